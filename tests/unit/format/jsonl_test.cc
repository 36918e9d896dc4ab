// Tests the recording, parsed back and compared with the profile field by field.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/format/common/json_values.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using namespace std::string_literals;
using nlohmann::json;

namespace {

std::vector<json> recorded(const Profile& profile) {
  std::ostringstream out;
  REQUIRE(render_jsonl(profile, {}, out).has_value());
  std::vector<json> lines;
  std::istringstream text(out.str());
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string decode_base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  REQUIRE(text.size() % 4 == 0);
  std::string bytes;
  unsigned bits = 0;
  int have = 0;
  for (char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<unsigned>(alphabet.find(c));
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xFF);
  }
  return bytes;
}

std::string bytes_of(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : decode_base64(value.at("base64").get<std::string>());
}

std::uint64_t address_of(const json& value) {
  const std::string text = value.get<std::string>();
  REQUIRE(text.starts_with("0x"));
  return std::stoull(text, nullptr, 16);
}

Index index_of(const json& value) { return value.is_null() ? kNoIndex : value.get<Index>(); }

ProfileModule::Kind kind_of(const std::string& name) {
  if (name == "file") return ProfileModule::Kind::kFile;
  if (name == "kernel") return ProfileModule::Kind::kKernel;
  REQUIRE(name == "unknown");
  return ProfileModule::Kind::kUnknown;
}

void check_header(const json& line, const Profile& profile) {
  CHECK(line.at("format") == "labelscope-recording");
  CHECK(line.at("version") == 2);
  CHECK(bytes_of(line.at("tool_version")) == profile.tool_version);
  CHECK(bytes_of(line.at("event")) == profile.event);
  CHECK(bytes_of(line.at("mode")) == text_of(profile.values.front()));
  CHECK(bytes_of(line.at("backend")) == profile.backend);
  CHECK(bytes_of(line.at("call_graph")) == profile.call_graph);
  CHECK(bytes_of(line.at("command_line")) == profile.command_line);
  CHECK(bytes_of(line.at("kernel_release")) == profile.kernel_release);
  CHECK(line.at("start_unix_ns").get<std::uint64_t>() == profile.start_unix_ns);
  CHECK(line.at("start_monotonic_ns").get<std::uint64_t>() == profile.start_monotonic_ns);
  CHECK(line.at("duration_ns").get<std::uint64_t>() == profile.duration_ns);
  CHECK(line.at("period_ns").get<std::uint64_t>() == profile.period_ns);
  REQUIRE(line.at("outcomes").size() == LS_OUTCOME_COUNT);
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) CHECK(line.at("outcomes")[i] == outcome_name(i));
  CHECK(line.at("flags").size() == kSampleFlagCount);
  CHECK(line.at("flags")[3] == "null-value");
}

void check_module(const json& line, const ProfileModule& module) {
  CHECK(kind_of(line.at("kind")) == module.kind);
  CHECK(bytes_of(line.at("path")) == module.path);
  CHECK(bytes_of(line.at("build_id")) == module.build_id);
  CHECK(address_of(line.at("start")) == module.start);
  CHECK(address_of(line.at("end")) == module.end);
  CHECK(address_of(line.at("file_offset")) == module.file_offset);
  CHECK(address_of(line.at("load_bias")) == module.load_bias);
  CHECK(bytes_of(line.at("symbol_problem")) == module.symbol_problem);
}

void check_location(const json& line, const Location& location) {
  CHECK(index_of(line.at("module")) == location.module);
  CHECK(address_of(line.at("address")) == location.address);
  REQUIRE(line.at("lines").size() == location.lines.size());
  for (std::size_t i = 0; i < location.lines.size(); ++i) {
    CHECK(bytes_of(line.at("lines")[i].at("function")) == location.lines[i].function);
    CHECK(bytes_of(line.at("lines")[i].at("system_name")) == location.lines[i].system_name);
    CHECK(bytes_of(line.at("lines")[i].at("file")) == location.lines[i].file);
    CHECK(line.at("lines")[i].at("line") == location.lines[i].line);
  }
}

void check_labels(const json& line, const LabelSet& set) {
  REQUIRE(line.at("labels").size() == set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    CHECK(bytes_of(line.at("labels")[i].at("key")) == set[i].key);
    CHECK(bytes_of(line.at("labels")[i].at("value")) == set[i].value);
    CHECK(line.at("labels")[i].at("publisher") == set[i].publisher);
  }
}

void check_sample(const json& line, const SampleRow& row) {
  CHECK(line.at("time_ns").get<std::uint64_t>() == row.time_ns);
  CHECK(index_of(line.at("thread")) == row.thread);
  CHECK(index_of(line.at("stack")) == row.stack);
  CHECK(index_of(line.at("labels")) == row.label_set);
  CHECK(line.at("count") == row.count);
  CHECK(line.at("weight_ns").get<std::uint64_t>() == row.weight_ns);
  CHECK(line.at("outcome") == row.outcome);
  CHECK(line.at("flags") == row.flags);
}

void check_ledger(const json& line, const Ledger& ledger) {
  CHECK(line.at("taken").get<std::uint64_t>() == ledger.taken);
  const json& time = line.at("time");
  CHECK(time.at("attributed_ns").get<std::uint64_t>() == ledger.time.attributed_ns);
  CHECK(time.at("unsampled_ns").get<std::uint64_t>() == ledger.time.unsampled_ns);
  CHECK(time.at("lost_ns").get<std::uint64_t>() == ledger.time.lost_ns);
  REQUIRE(line.at("outcomes").size() == LS_OUTCOME_COUNT);
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    CHECK(line.at("outcomes").at(std::string(outcome_name(i))) == ledger.outcomes[i]);
  }
  CHECK(line.at("dropped") == ledger.dropped);
  CHECK(line.at("written") == ledger.written);
  CHECK(line.at("truncated") == ledger.truncated);
  std::map<std::string, std::uint64_t> counters;
  for (const json& counter : line.at("counters")) {
    counters[bytes_of(counter.at("name"))] = counter.at("count");
  }
  CHECK(counters == ledger.named());
}

// Every field differs from its default and from its neighbours; strings are hostile where they may
// be.
Profile full_profile() {
  ProfileMaker maker;
  Profile& profile = maker.profile;
  profile.values = {value_of_kind(LS_WHOLE_TIME)};
  profile.command_line = "labelscope \xff\0 x"s;
  profile.start_unix_ns = UINT64_MAX;
  maker.process(100, "sh\"op\n", {"/a.so", "/b\x80.so"});
  maker.process(200, "", {});
  const Index thread = maker.thread(100, 101, "w\0rk"s);
  maker.thread(200, 201, "\xc3\xa9");
  const Index kernel = maker.module(ProfileModule::Kind::kKernel, "[kernel]", 1, UINT64_MAX);
  const Index file = maker.module(ProfileModule::Kind::kFile, "/a\xfe.so", 0x1000, 0x2000);
  maker.module(ProfileModule::Kind::kUnknown, "[anon]", 3, 4);
  profile.modules[file].build_id = "00ff";
  profile.modules[file].file_offset = 0x40;
  profile.modules[file].load_bias = 0x7f0000000000;
  profile.modules[file].symbol_problem = "no .symtab";
  const Index bare = maker.location(kernel, 0xffffffff81234567, {});
  const Index named = maker.location(file, 0x1234, {"inner", "outer"});
  profile.locations[named].lines[0] = {"f()", "_Z1fv", "f.cc", 12};
  const Index loose = maker.location(kNoIndex, 0, {});
  const Index stack = maker.stack({bare, named, loose});
  maker.stack({});
  const Index set = maker.label_set(LabelSet{{"k", "v", 0},
                                             {"", "", 1},
                                             {"\xff", "\0"s, 2},
                                             {"</script>", "\xe2\x80\xa8", 3},
                                             {std::string(128, 'k'), std::string(256, 'v'), 255}});
  maker.label_set(LabelSet{});
  maker.sample(thread, stack, set, LS_LABELLED, UINT16_MAX).count = UINT32_MAX;
  maker.profile.rows.back().weight_ns = UINT64_MAX;
  maker.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNREADABLE_VANISHED).time_ns = UINT64_MAX;
  profile.ledger.taken = 1000;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) profile.ledger.outcomes[i] = 10 + i;
  profile.ledger.dropped = 2;
  profile.ledger.written = 998;
  profile.ledger.truncated = 3;
  profile.ledger.time = {UINT64_MAX, 2, 3};
  profile.ledger.counters.set("a", 1);
  profile.ledger.counters.set("b\xff", UINT64_MAX);
  profile.ledger.counters[Counter::kThrottled] = 2;
  profile.ledger.stops = {30, 10, 20};
  return profile;
}

}  // namespace

TEST_CASE("jsonl: every field of a profile comes back") {
  const Profile profile = full_profile();
  const std::vector<json> lines = recorded(profile);
  std::map<std::string, std::size_t> seen;
  for (const json& line : lines) {
    const std::string type = line.at("type");
    const std::size_t id = seen[type]++;
    CAPTURE(type, id);
    if (line.contains("id")) CHECK(line.at("id") == id);
    if (type == "header") {
      check_header(line, profile);
    } else if (type == "process") {
      CHECK(line.at("pid") == raw(profile.processes.at(id).pid));
      CHECK(bytes_of(line.at("comm")) == profile.processes.at(id).comm);
      std::vector<std::string> publishers;
      for (const json& path : line.at("publishers")) publishers.push_back(bytes_of(path));
      CHECK(publishers == profile.processes.at(id).publishers);
    } else if (type == "thread") {
      CHECK(line.at("process") == profile.threads.at(id).process);
      CHECK(line.at("tid") == raw(profile.threads.at(id).tid));
      CHECK(bytes_of(line.at("name")) == profile.threads.at(id).name);
    } else if (type == "module") {
      check_module(line, profile.modules.at(id));
    } else if (type == "location") {
      check_location(line, profile.locations.at(id));
    } else if (type == "stack") {
      CHECK(line.at("locations").get<std::vector<Index>>() == profile.stacks.at(id).frames);
    } else if (type == "labels") {
      check_labels(line, profile.label_sets.at(id));
    } else if (type == "sample") {
      check_sample(line, profile.rows.at(id));
    } else {
      REQUIRE(type == "ledger");
      check_ledger(line, profile.ledger);
    }
  }
  CHECK(seen == std::map<std::string, std::size_t>{{"header", 1},
                                                   {"process", 2},
                                                   {"thread", 2},
                                                   {"module", 3},
                                                   {"location", 3},
                                                   {"stack", 2},
                                                   {"labels", 2},
                                                   {"sample", 2},
                                                   {"ledger", 1}});
}

TEST_CASE(
    "jsonl: the header is first, the ledger last, and a line refers only to lines before it") {
  const std::vector<json> lines = recorded(full_profile());
  CHECK(lines.front().at("type") == "header");
  CHECK(lines.back().at("type") == "ledger");
  std::map<std::string, std::size_t> defined;
  auto check_reference = [&](const std::string& table, const json& reference) {
    if (!reference.is_null()) CHECK(reference.get<std::size_t>() < defined[table]);
  };
  for (const json& line : lines) {
    const std::string type = line.at("type");
    if (type == "location") check_reference("module", line.at("module"));
    if (type == "stack") {
      for (const json& location : line.at("locations")) check_reference("location", location);
    }
    if (type == "sample") {
      for (const char* table : {"thread", "stack", "labels"})
        check_reference(table, line.at(table));
    }
    ++defined[type];
  }
}

TEST_CASE("jsonl: type is the first field of every line, and lines have no newline inside") {
  const Profile profile = full_profile();
  std::ostringstream out;
  REQUIRE(render_jsonl(profile, {}, out).has_value());
  std::istringstream text(out.str());
  std::size_t count = 0;
  for (std::string line; std::getline(text, line); ++count) CHECK(line.starts_with("{\"type\":\""));
  CHECK(count == recorded(profile).size());
  CHECK(out.str().back() == '\n');
}

TEST_CASE("jsonl: text stays text, bytes that are not, and NUL, become base64") {
  SmallProfile small;
  small.labelled({{"a", "gr\xc3\xbc\xc3\x9f"}, {"b", "\xff"}, {"c", "x\0y"s}, {"d", "\n\x1b"}});
  for (const json& line : recorded(small.profile)) {
    if (line.at("type") != "labels" || line.at("labels").empty()) continue;
    CHECK(line.at("labels")[0].at("value") == "gr\xc3\xbc\xc3\x9f");
    CHECK(line.at("labels")[1].at("value") == json{{"base64", "/w=="}});
    CHECK(line.at("labels")[2].at("value") == json{{"base64", "eAB5"}});
    CHECK(line.at("labels")[3].at("value") == "\n\x1b");
  }
}

TEST_CASE("json_text: no byte is outside of ASCII or a control, and every character comes back") {
  // DEL, two C1 controls (CSI, NEL), changes of direction, and letters of other scripts.
  const std::string text = "a\x7f\u009b2J\u0085\u202e\u2066 \u00e4\u4e2d\U0001f600\t";
  const Json value = {{"label", text}};
  for (const int indentation : {-1, 2}) {
    const std::string shown = json_text(value, indentation);
    CHECK(std::ranges::all_of(
        shown, [](char byte) { return byte == '\n' || (byte >= ' ' && byte <= '~'); }));
    CHECK(json::parse(shown)["label"] == text);
  }
}

TEST_CASE("base64: the examples of RFC 4648, and every length and byte") {
  CHECK(base64_encode("").empty());
  CHECK(base64_encode("f") == "Zg==");
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_encode("foo") == "Zm9v");
  CHECK(base64_encode("foob") == "Zm9vYg==");
  CHECK(base64_encode("fooba") == "Zm9vYmE=");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
  std::string bytes;
  for (int i = 0; i < 600; ++i) {
    CHECK(decode_base64(base64_encode(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
}
