// Tests which key the hint at the end names.
#include "cli/profile/key_use.h"

#include <string>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

TEST_CASE("best_key: a key with thousands of values is not one to look at first") {
  Profile profile;
  for (int i = 0; i < 3000; ++i) {
    profile.label_sets.push_back({{"request", std::to_string(i), 0}});
    if (i % 2 == 0) profile.label_sets.back().push_back({"tenant", std::to_string(i % 3), 0});
    SampleRow row;
    row.label_set = static_cast<Index>(i);
    profile.rows.push_back(row);
  }
  CHECK(best_key(profile) == "tenant");
  for (LabelSet& labels : profile.label_sets) labels.resize(1);
  CHECK(best_key(profile).empty());
}

TEST_CASE("count_keys: a value that has time and no sample is counted, one without both is not") {
  Profile profile;
  for (const char* wait : {"futex", "read", "unused"}) {
    profile.label_sets.push_back({{"wait", wait, 0}});
  }
  SampleRow row;
  row.label_set = 0;
  row.count = 3;
  row.weight_ns = 300;
  profile.rows.push_back(row);
  row.label_set = 1;
  row.count = 0;  // a total of waits, none of which was drawn
  row.weight_ns = 50;
  profile.rows.push_back(row);
  const auto keys = count_keys(profile);
  CHECK(keys.at("wait").values.size() == 2);
  CHECK(keys.at("wait").weight_ns == 350);
  CHECK(keys.at("wait").samples == 3);
}

TEST_CASE("best_key: samples without a label set say nothing") {
  Profile profile;
  profile.rows.resize(3);
  CHECK(best_key(profile).empty());
}
