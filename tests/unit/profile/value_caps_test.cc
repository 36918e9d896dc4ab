// A label with more values than it may have keeps those with most time, and says so.
#include "cli/profile/value_caps.h"

#include <map>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// Statement number i runs for i times 10 ns, in two databases.
Profile statements(int count) {
  Profile profile;
  for (int i = 1; i <= count; ++i) {
    profile.label_sets.push_back(
        {{"db", std::to_string(i % 2), 0}, {"query", std::to_string(i), 0}});
    SampleRow row;
    row.label_set = static_cast<Index>(i - 1);
    row.count = 1;
    row.weight_ns = static_cast<std::uint64_t>(i) * 10;
    profile.rows.push_back(row);
  }
  return profile;
}

std::map<std::string, std::uint64_t> time_of(const Profile& profile, const std::string& key) {
  std::map<std::string, std::uint64_t> times;
  for (const SampleRow& row : profile.rows) {
    for (const Label& label : profile.label_sets[row.label_set]) {
      if (label.key == key) times[label.value] += row.weight_ns;
    }
  }
  return times;
}

}  // namespace

TEST_CASE("value caps: the values with most time stay, and the others are one") {
  Profile profile = statements(5);
  cap_values({{"query", 2}}, profile);
  CHECK(time_of(profile, "query") ==
        std::map<std::string, std::uint64_t>{{"5", 50}, {"4", 40}, {"(other)", 60}});
  // Other labels stay as they are.
  CHECK(time_of(profile, "db") == std::map<std::string, std::uint64_t>{{"0", 60}, {"1", 90}});
  // 1 and 3 are equal now.
  CHECK(profile.label_sets.size() == 4);
  CHECK(profile.rows.size() == 4);
  CHECK(profile.ledger.counters[Counter::kLabelsOverCap] == 3);
  REQUIRE(profile.capped.size() == 1);
  CHECK(capped_text(profile.capped[0], profile) ==
        "the label query has 5 values: the 2 with most time are kept, and the others are (other), "
        "with 40.0% of the time; --label-values query=5 keeps them all");
}

TEST_CASE("value caps: nothing happens to a label with no more values than it may have") {
  Profile profile = statements(5);
  cap_values({{"query", 5}, {"db", kAllValues}, {"nothing", 1}}, profile);
  CHECK(profile.label_sets == statements(5).label_sets);
  CHECK(profile.capped.empty());
  CHECK(profile.ledger.counters[Counter::kLabelsOverCap] == 0);
}

TEST_CASE("value caps: waits have the same values as samples") {
  Profile profile = statements(3);
  profile.label_sets.push_back({{"db", "1", 0}, {"query", "9", 0}});
  WaitRow wait;
  wait.label_set = 3;
  wait.count = 1;
  profile.waits = {wait, wait};
  profile.waits[1].label_set = 0;
  cap_values({{"query", 2}}, profile);
  REQUIRE(profile.waits.size() == 1);
  CHECK(profile.waits[0].count == 2);
  CHECK(profile.label_sets[profile.waits[0].label_set] ==
        LabelSet{{"db", "1", 0}, {"query", "(other)", 0}});
}
