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

TEST_CASE("best_key: samples without a label set say nothing") {
  Profile profile;
  profile.rows.resize(3);
  CHECK(best_key(profile).empty());
}
