// Tests OTLP profiles, decoded by tests/formats/otlp.py, which checks the rules of OpenTelemetry's
// own checker.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using nlohmann::json;

namespace {

// Returns what was decoded, with all bytes as hexadecimal digits.
json otlp(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_otlp(weighed(profile, 10), options, out).has_value());
  constexpr const char* kDecode =
      "import json, sys\n"
      "sys.path.insert(0, sys.argv[1])\n"
      "sys.dont_write_bytecode = True\n"
      "import otlp\n"
      "print(json.dumps(otlp.decode(sys.stdin.buffer.read()), default=bytes.hex))\n";
  const ProgramResult result =
      run_program({require_program("python3"), "-c", kDecode, paths::kFormatTests}, out.str());
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.out);
}

std::string string_of(const json& file, const json& index) {
  return file["dictionary"]["strings"].at(index.is_null() ? 0 : index.get<std::size_t>());
}

std::map<std::string, json> attributes_of(const json& file, const json& indices) {
  std::map<std::string, json> attributes;
  for (const json& index : indices) {
    const json& attribute = file["dictionary"]["attributes"].at(index.get<std::size_t>());
    const json& value = attribute["value"];
    attributes[string_of(file, attribute["key"])] =
        value["string"].is_null() ? value["int"] : value["string"];
  }
  return attributes;
}

// Returns a stack as "work;main".
std::string stack_of(const json& file, const json& sample) {
  const json& tables = file["dictionary"];
  std::string text;
  for (const json& location :
       tables["stacks"].at(sample["stack"].get<std::size_t>())["locations"]) {
    for (const json& line : tables["locations"].at(location.get<std::size_t>())["lines"]) {
      const json& function = tables["functions"].at(line["function"].get<std::size_t>());
      text += (text.empty() ? "" : ";") + string_of(file, function["name"]);
    }
  }
  return text;
}

// Profile 0 has time, profile 1 counts.
const json& samples_of(const json& file, std::size_t profile = 0, std::size_t resource = 0) {
  return file["resources"].at(resource)["scopes"][0]["profiles"].at(profile)["samples"];
}

}  // namespace

TEST_CASE("otlp: time and counts of a process, with labels and the thread as attributes") {
  SmallProfile small;
  small.labelled({{"tenant", "42"}}).count = 3;
  const json file = otlp(small.profile);
  REQUIRE(file["resources"].size() == 1);
  const json& profiles = file["resources"][0]["scopes"][0]["profiles"];
  REQUIRE(profiles.size() == 2);
  CHECK(string_of(file, profiles[0]["sample_type"]["type"]) == "cpu");
  CHECK(string_of(file, profiles[0]["sample_type"]["unit"]) == "nanoseconds");
  CHECK(string_of(file, profiles[1]["sample_type"]["type"]) == "samples");
  CHECK(profiles[0]["time"] == small.profile.start_unix_ns);
  CHECK(profiles[0]["period"] == 10'000'000);
  REQUIRE(samples_of(file).size() == 1);
  CHECK(samples_of(file, 0)[0]["values"] == json{30});
  CHECK(samples_of(file, 1)[0]["values"] == json{3});
  CHECK(stack_of(file, samples_of(file)[0]) == "work;main");
  CHECK(attributes_of(file, samples_of(file)[0]["attributes"]) ==
        std::map<std::string, json>{
            {"process.context.label.tenant", "42"}, {"thread.id", 101}, {"thread.name", "worker"}});
  CHECK(attributes_of(file, profiles[0]["attributes"])["labelscope.command"] ==
        small.profile.command_line);
}

TEST_CASE("otlp: kinds of time of one stack are one sample where samples are counted") {
  SmallProfile small;
  small.profile.values.push_back({"waiting", "nanoseconds"});
  small.labelled({{"tenant", "42"}}).count = 3;
  SampleRow waiting = small.profile.rows.back();
  waiting.value = 1;
  waiting.count = 2;
  small.profile.rows.push_back(waiting);
  const json file = otlp(small.profile);
  REQUIRE(file["resources"][0]["scopes"][0]["profiles"].size() == 3);
  CHECK(samples_of(file, 0).size() == 1);
  CHECK(samples_of(file, 1).size() == 1);
  REQUIRE(samples_of(file, 2).size() == 1);
  CHECK(samples_of(file, 2)[0]["values"] == json{5});
}

TEST_CASE("otlp: each process is a resource") {
  SmallProfile small;
  small.labelled({});
  small.process(50, "other");
  small.sample(small.thread(50, 51, ""), small.work_stack, small.no_labels, LS_UNLABELLED);
  const json file = otlp(small.profile);
  REQUIRE(file["resources"].size() == 2);
  const json& attributes = file["resources"][1]["resource"]["attributes"];
  CHECK(attributes[0]["key"] == "service.name");
  CHECK(attributes[0]["value"]["string"] == "other");
  CHECK(attributes[2]["key"] == "process.pid");
  CHECK(attributes[2]["value"]["int"] == 50);
}

TEST_CASE("otlp: what a process has published of itself belongs to its resource") {
  SmallProfile small;
  small.labelled({});
  small.profile.processes.at(0).attributes = {
      {"process.pid", "another namespace's"}, {"service.name", "shop"}, {"service.version", "1.2"}};
  const json file = otlp(small.profile);
  std::map<std::string, json> seen;
  for (const json& attribute : file["resources"][0]["resource"]["attributes"]) {
    CHECK(seen.emplace(attribute["key"], attribute["value"]).second);
  }
  CHECK(seen["service.name"]["string"] == "shop");
  CHECK(seen["service.version"]["string"] == "1.2");
  CHECK(seen["process.pid"].contains("int"));
}

TEST_CASE("otlp: a trace and a span are a link, unless they are none") {
  const std::string trace = "0123456789abcdef0123456789abcdef";
  SmallProfile small;
  small.labelled({{"trace_id", trace}, {"span_id", "00000000000000ff"}});
  const json linked = otlp(small.profile);
  const json& sample = samples_of(linked)[0];
  REQUIRE(sample["link"] == 1);
  CHECK(linked["dictionary"]["links"][1]["trace_id"] == trace);
  CHECK(linked["dictionary"]["links"][1]["span_id"] == "00000000000000ff");
  CHECK_FALSE(
      attributes_of(linked, sample["attributes"]).contains("process.context.label.trace_id"));

  for (const auto& [id, span] : {std::pair<std::string, std::string>{trace, "ff"},
                                 {trace, "0000000000000000"},
                                 {std::string(32, 'x'), "00000000000000ff"}}) {
    SmallProfile other;
    other.labelled({{"trace_id", id}, {"span_id", span}});
    const json file = otlp(other.profile);
    CHECK(samples_of(file)[0]["link"].is_null());
    CHECK(attributes_of(file, samples_of(file)[0]["attributes"])
              .at("process.context.label.trace_id") == id);
  }
}

TEST_CASE("otlp: outcome, cut labels and how the stack ended are attributes") {
  SmallProfile small;
  const Index cut = small.stack({0});
  small.profile.stacks[cut].end = LS_STACK_NO_TABLE;
  small.sample(small.shop_thread, cut, kNoIndex, LS_UNREADABLE_TORN);
  small.sample(small.shop_thread, kNoIndex, small.labels({{"a", "1"}}), LS_LABELLED,
               LS_TRUNCATED_BYTES);
  const json file = otlp(small.profile);
  std::map<std::string, std::map<std::string, json>> by_stack;
  for (const json& sample : samples_of(file)) {
    by_stack[stack_of(file, sample)] = attributes_of(file, sample["attributes"]);
  }
  CHECK(by_stack.at("work").at("labelscope.outcome") == "torn");
  CHECK(by_stack.at("work").at("labelscope.stack_end") == "no-table");
  CHECK(by_stack.at("[no stack]").at("labelscope.truncated") == "bytes");
}

TEST_CASE("otlp: equal mappings and locations of two processes are one entry each") {
  SmallProfile small;
  small.labelled({});
  small.process(200, "twin");
  const Index module =
      small.module(ProfileModule::Kind::kFile, "/opt/shop/shop", 0x400000, 0x500000);
  const Index stack = small.stack(
      {small.location(module, 0x401000, {"work"}), small.location(module, 0x402000, {"main"})});
  small.sample(small.thread(200, 200, "twin"), stack, small.no_labels, LS_UNLABELLED);
  // Nothing refers to these, so they must not be in the output (the decoder refuses unused
  // entries).
  small.location(small.module(ProfileModule::Kind::kFile, "/unused", 9, 3), 5, {"unused"});
  small.labels({{"unused", "label"}});
  const json file = otlp(small.profile);
  CHECK(file["dictionary"]["mappings"].size() == 2);
  CHECK(file["dictionary"]["locations"].size() == 3);
}

TEST_CASE("otlp: hostile bytes, and ranges that are none, pass all rules") {
  SmallProfile small;
  const std::string hostile("\xff\0</x>\n\xE2\x80\xAE", 10);
  small.process(7, hostile);
  const Index module = small.module(ProfileModule::Kind::kFile, hostile, 9, 3);
  small.sample(
      small.thread(7, 7, hostile), small.stack({small.location(module, 0, {hostile})}),
      small.label_set({{"k", "1", 0}, {"k", "2", 1}, {"", hostile, 0}, {"thread.id", "x", 0}}),
      LS_LABELLED, LS_KEY_CONFLICT);
  small.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNLABELLED).weight_ns = UINT64_MAX;
  const json file = otlp(small.profile, {.group_by = {"k", "none"}});
  CHECK(samples_of(file, 0, 1)[0]["values"] == json{INT64_MAX});
  CHECK(stack_of(file, samples_of(file, 0, 1)[0]) == "[no stack];none=<none>;k=<none>");
}
