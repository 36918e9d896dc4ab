// Tests files for speedscope, read back with the checks of its importer.
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

json speedscope(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_speedscope(weighed(profile, 10), options, out).has_value());
  return json::parse(out.str());
}

// Returns stacks as "main;work 10", in the order of the profile.
std::vector<std::string> stacks_of(const json& file, std::size_t profile) {
  const json& one = file["profiles"][profile];
  REQUIRE(one["samples"].size() == one["weights"].size());
  std::vector<std::string> stacks;
  for (std::size_t i = 0; i < one["samples"].size(); ++i) {
    std::string text;
    for (const json& frame : one["samples"][i]) {
      text += (text.empty() ? "" : ";") +
              file["shared"]["frames"].at(frame.get<std::size_t>())["name"].get<std::string>();
    }
    stacks.push_back(text + ' ' + one["weights"][i].dump());
  }
  return stacks;
}

}  // namespace

TEST_CASE("speedscope: a profile for each thread, the one with most time first") {
  SmallProfile small;
  small.labelled({{"a", "1"}});
  const Index other = small.thread(100, 102, "");
  small.sample(other, small.work_stack, small.no_labels, LS_UNLABELLED).count = 3;
  const json file = speedscope(small.profile);
  CHECK(file["$schema"] == "https://www.speedscope.app/file-format-schema.json");
  REQUIRE(file["profiles"].size() == 2);
  CHECK(file["profiles"][0]["name"] == "shop, thread (102)");
  CHECK(file["profiles"][1]["name"] == "shop, thread worker (101)");
  CHECK(file["profiles"][0]["endValue"] == 30);
  CHECK(file["profiles"][0]["unit"] == "nanoseconds");
  CHECK(stacks_of(file, 0) == std::vector<std::string>{"main;work 30"});
  CHECK(file["shared"]["frames"].size() == 2);
}

TEST_CASE("speedscope: a profile for each value of the groups") {
  SmallProfile small;
  small.labelled({{"tenant", "t\n1"}, {"route", "/a"}}).count = 4;
  small.labelled({}).count = 2;
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_TORN);
  const json file = speedscope(small.profile, {.group_by = {"tenant", "route"}});
  REQUIRE(file["profiles"].size() == 3);
  CHECK(file["profiles"][0]["name"] == "tenant=t\\x0a1, route=/a");
  CHECK(file["profiles"][1]["name"] == "tenant=<none>, route=<none>");
  CHECK(file["profiles"][2]["name"] == "tenant=<unreadable>, route=<unreadable>");
  CHECK(stacks_of(file, 2) == std::vector<std::string>{"[labels unreadable: torn];main;work 10"});
}

TEST_CASE("speedscope: samples are in the order of time, equal neighbours are one") {
  SmallProfile small;
  const Index main_only = small.stack({1});
  for (const Index stack : {small.work_stack, small.work_stack, main_only, small.work_stack}) {
    small.sample(small.shop_thread, stack, small.no_labels, LS_UNLABELLED);
  }
  std::swap(small.profile.rows[2], small.profile.rows[3]);
  CHECK(stacks_of(speedscope(small.profile), 0) ==
        std::vector<std::string>{"main;work 20", "main 10", "main;work 10"});

  // Without the time of each sample there is no such order, and the profile's name says so.
  small.profile.rows[1].time_ns = 0;
  const json file = speedscope(small.profile);
  CHECK(file["profiles"][0]["name"] == "shop, thread worker (101) (not in the order of time)");
  CHECK(stacks_of(file, 0).size() == 2);
}

TEST_CASE("speedscope: what cannot be known is a frame of its own") {
  SmallProfile small;
  const Index cut = small.stack({0});
  small.profile.stacks[cut].end = LS_STACK_NO_TABLE;
  small.sample(small.shop_thread, cut, small.no_labels, LS_UNLABELLED);
  small.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNLABELLED);
  const json file = speedscope(small.profile);
  REQUIRE(file["profiles"].size() == 2);
  CHECK(file["profiles"][0]["name"] == "[unknown process]");
  CHECK(stacks_of(file, 0) == std::vector<std::string>{"[no stack] 10"});
  CHECK(stacks_of(file, 1) == std::vector<std::string>{"[stack ends: no-table];work 10"});
}
