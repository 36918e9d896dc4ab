// Tests files for Firefox Profiler: tables that refer to each other, and markers that hold their
// samples.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using nlohmann::json;

namespace {

json firefox(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_firefox(weighed(profile, 1'500'000), options, out).has_value());
  return json::parse(out.str());
}

std::string string_of(const json& file, const json& index) {
  return file["shared"]["stringArray"].at(index.get<std::size_t>());
}

// Returns a stack as "main;work".
std::string stack_of(const json& file, const json& sample) {
  std::string text;
  const json& shared = file["shared"];
  for (json at = sample; !at.is_null(); at = shared["stackTable"]["prefix"].at(at.get<int>())) {
    const auto frame = shared["stackTable"]["frame"].at(at.get<std::size_t>()).get<std::size_t>();
    const auto func = shared["frameTable"]["func"].at(frame).get<std::size_t>();
    const std::string name = string_of(file, shared["funcTable"]["name"].at(func));
    text = text.empty() ? name : name + ';' + text;
  }
  return text;
}

// Returns markers as "tenant=42 0..10", in milliseconds.
std::vector<std::string> markers_of(const json& file, const json& thread) {
  std::vector<std::string> texts;
  const json& markers = thread["markers"];
  for (std::size_t i = 0; i < markers["length"]; ++i) {
    const std::string key = string_of(file, markers["name"].at(i));
    const json& data = markers["data"].at(i);
    std::ostringstream text;
    for (const auto& [field, value] : data.items()) {
      if (field == "type") CHECK(value == "label " + key);
      if (field != "type") text << field << '=' << string_of(file, value);
    }
    text << ' ' << markers["startTime"].at(i) << ".." << markers["endTime"].at(i);
    CHECK(markers["phase"].at(i) == 1);
    texts.push_back(text.str());
  }
  return texts;
}

}  // namespace

TEST_CASE("firefox: samples have their time and weight in milliseconds, and a stack") {
  SmallProfile small;
  small.labelled({});
  small.labelled({}).count = 3;
  const json file = firefox(small.profile);
  CHECK(file["meta"]["preprocessedProfileVersion"] == 60);
  REQUIRE(file["threads"].size() == 1);
  const json& thread = file["threads"][0];
  CHECK(thread["name"] == "worker");
  CHECK(thread["processName"] == "shop");
  CHECK(thread["pid"] == "100");
  CHECK(thread["tid"] == 101);
  CHECK(thread["samples"]["time"] == json::parse("[0.0, 10.0]"));
  CHECK(thread["samples"]["weight"] == json::parse("[1.5, 4.5]"));
  CHECK(thread["samples"]["threadCPUDelta"] == json::parse("[1500000, 4500000]"));
  CHECK(stack_of(file, thread["samples"]["stack"][0]) == "main;work");
  CHECK(file["libs"][0]["path"] == "/opt/shop/shop");
  CHECK(thread["markers"]["length"] == 0);
  small.profile.values = {cli::value_of_kind(LS_WHOLE_TIME)};
  CHECK_FALSE(firefox(small.profile)["threads"][0]["samples"].contains("threadCPUDelta"));
}

TEST_CASE("firefox: what another tool has counted is no time") {
  SmallProfile small;
  small.labelled({}).count = 3;
  const auto samples = [&](const char* mode) {
    small.profile.values = {*cli::parse_value_type(mode)};
    return firefox(small.profile)["threads"][0]["samples"];
  };
  const json bytes = samples("inuse_space/bytes");
  CHECK(bytes["weightType"] == "bytes");
  CHECK(bytes["weight"] == json::parse("[4500000]"));
  const json calls = samples("contentions/count");
  CHECK(calls["weightType"] == "samples");
  CHECK(calls["weight"] == json::parse("[4500000]"));
  CHECK(samples("wall")["weightType"] == "tracing-ms");
}

TEST_CASE("firefox: a marker for each label and run of samples, up to the sample without it") {
  SmallProfile small;
  small.labelled({{"tenant", "1"}, {"type", "x"}});
  small.labelled({{"tenant", "1"}});
  small.labelled({{"tenant", "2"}});
  small.labelled({});
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_TORN);
  // The next sample is much later; the thread did not run meanwhile.
  small.labelled({{"tenant", "2"}}).time_ns += 500'000'000;
  const json file = firefox(small.profile);
  CHECK(markers_of(file, file["threads"][0]) ==
        std::vector<std::string>{"label_type=x 0.0..10.0", "tenant=1 0.0..20.0",
                                 "tenant=2 20.0..30.0", "labels_unreadable=torn 40.0..50.0",
                                 "tenant=2 550.0..560.0"});
  std::vector<std::string> schemas;
  for (const json& schema : file["meta"]["markerSchema"]) schemas.push_back(schema["name"]);
  CHECK(schemas ==
        std::vector<std::string>{"label labels unreadable", "label tenant", "label type"});
}

TEST_CASE(
    "firefox: samples at one time are kept apart, those without any have a track of their own") {
  SmallProfile small;
  small.labelled({{"a", "1"}});
  small.labelled({{"a", "2"}}).time_ns = small.profile.rows[0].time_ns;
  small.labelled({{"a", "3"}}).time_ns = 0;
  small.labelled({{"a", "4"}}).time_ns = 0;
  const json file = firefox(small.profile);
  REQUIRE(file["threads"].size() == 2);
  CHECK(markers_of(file, file["threads"][0]) ==
        std::vector<std::string>{"a=1 0.0..1e-06", "a=2 1e-06..10.000001"});
  CHECK(file["threads"][1]["name"] == "worker (without times)");
  CHECK(markers_of(file, file["threads"][1]) ==
        std::vector<std::string>{"a=3 0.0..1.5", "a=4 1.5..3.0"});
}

TEST_CASE("firefox: the search of the viewer can name every key") {
  SmallProfile small;
  small.labelled({{"http.Route", "/a"}, {"{x}\n", "b"}, {"http_route", "c"}});
  const json file = firefox(small.profile);
  CHECK(markers_of(file, file["threads"][0]) == std::vector<std::string>{"http_route=/a 0.0..10.0",
                                                                         "http_route=c 0.0..10.0",
                                                                         "_x__x0a=b 0.0..10.0"});
  for (const json& schema : file["meta"]["markerSchema"]) {
    const std::string label = "{marker.data." + schema["fields"][0]["key"].get<std::string>() + "}";
    CHECK(schema["chartLabel"] == label);
    CHECK(schema["tooltipLabel"] == "{marker.name}: " + label);
  }
}

TEST_CASE("firefox: groups, unreadable labels and the end of a stack are frames") {
  SmallProfile small;
  const Index cut = small.stack({0});
  small.profile.stacks[cut].end = LS_STACK_NO_TABLE;
  small.sample(small.shop_thread, cut, small.no_labels, LS_UNREADABLE_TORN);
  const json file = firefox(small.profile, {.group_by = {"tenant"}});
  CHECK(stack_of(file, file["threads"][0]["samples"]["stack"][0]) ==
        "tenant=<unreadable>;[labels unreadable: torn];[stack ends: no-table];work");
}
