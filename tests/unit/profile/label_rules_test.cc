// Labels that are left out or hashed are counted, and sets that become equal are one.
#include "cli/profile/label_rules.h"

#include <set>

#include "cli/profile/key_use.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// Makes a row for each request, of three tenants.
Profile requests(int count, bool timed) {
  Profile profile;
  for (int i = 0; i < count; ++i) {
    profile.label_sets.push_back(
        {{"request", std::to_string(i), 0}, {"tenant", std::to_string(i % 3), 0}});
    SampleRow row;
    row.label_set = static_cast<Index>(i);
    row.weight_ns = 10;
    row.time_ns = timed ? 1 + static_cast<std::uint64_t>(i) : 0;
    profile.rows.push_back(row);
  }
  return profile;
}

}  // namespace

TEST_CASE("label rules: what is denied, or not allowed, is left out") {
  const LabelSet all{{"a", "1", 0}, {"b", "2", 0}, {"c", "3", 0}};
  LabelSet labels = all;
  MetKeys met;
  CHECK(apply_rules({.deny = {"b", "x"}, .allow = {}, .hash = {}}, labels, met).left_out == 1);
  CHECK(labels == LabelSet{{"a", "1", 0}, {"c", "3", 0}});
  labels = all;
  CHECK(apply_rules({.deny = {}, .allow = {"b"}, .hash = {}}, labels, met).left_out == 2);
  CHECK(labels == LabelSet{{"b", "2", 0}});
  labels = all;
  CHECK(apply_rules({}, labels, met).left_out == 0);
  CHECK(labels == all);
}

TEST_CASE("label rules: a hash is one of 256, and keeps its label") {
  std::set<std::string> values;
  MetKeys met;
  for (int i = 0; i < 5000; ++i) {
    LabelSet labels{{"a", std::to_string(i), 0}, {"b", "2", 0}};
    LabelSet again = labels;
    const LabelRules rules{.deny = {}, .allow = {"b"}, .hash = {"a"}};
    CHECK(apply_rules(rules, labels, met).hashed == 1);
    REQUIRE(labels.size() == 2);
    apply_rules(rules, again, met);
    CHECK(again == labels);
    values.insert(labels[0].value);
  }
  CHECK(values.size() == 256);
  CHECK(*values.begin() == "#00");
}

TEST_CASE("label rules: a key that no label has is reported, with its option") {
  const LabelRules rules{.deny = {"request", "nosuch"}, .allow = {"tenant"}, .hash = {"typo"}};
  Profile profile = requests(3, false);
  const MetKeys met = apply_rules(rules, profile);
  CHECK(met == MetKeys{"request", "tenant"});
  CHECK(unmet_rules(rules, met) ==
        std::vector<std::string>{"--label-deny nosuch: no label has this key",
                                 "--label-hash typo: no label has this key"});
}

TEST_CASE("label rules: rows that become equal are one, and the ledger counts") {
  const LabelRules rules{.deny = {"request"}, .allow = {}, .hash = {}};
  Profile profile = requests(30, false);
  profile.rows.push_back(profile.rows[0]);
  profile.rows.back().label_set = kNoIndex;
  apply_rules(rules, profile);
  CHECK(profile.label_sets ==
        std::vector<LabelSet>{{{"tenant", "0", 0}}, {{"tenant", "1", 0}}, {{"tenant", "2", 0}}});
  REQUIRE(profile.rows.size() == 4);
  CHECK(profile.rows[1].count == 10);
  CHECK(profile.rows[1].weight_ns == 100);
  CHECK(profile.ledger.counters[Counter::kLabelsLeftOut] == 30);

  Profile timed = requests(30, true);
  apply_rules(rules, timed);
  CHECK(timed.rows.size() == 30);
  CHECK(timed.label_sets.size() == 3);
}

TEST_CASE("many label sets: the key is named without which there are the fewest") {
  CHECK_FALSE(many_label_sets(requests(10'000, false)));
  Profile profile = requests(10'001, false);
  // Sets that no sample has are not counted.
  profile.label_sets.resize(30'000);
  const auto many = many_label_sets(profile);
  REQUIRE(many);
  CHECK(many->sets == 10'001);
  REQUIRE(many->keys.size() == 1);
  CHECK(many->keys[0] == std::pair<std::string, std::size_t>("request", 10'001));
  CHECK(many->without == 3);
}

TEST_CASE("many label sets: labels that are both unique are named together, and never the reason") {
  Profile profile = requests(10'001, false);
  for (std::size_t i = 0; i < profile.label_sets.size(); ++i) {
    profile.label_sets[i].push_back({"span", std::to_string(i), 0});
    profile.label_sets[i].push_back({"wait", i % 2 == 0 ? "futex" : "read", 0});
  }
  const auto many = many_label_sets(profile);
  REQUIRE(many);
  REQUIRE(many->keys.size() == 2);
  CHECK(many->keys[0].first == "request");
  CHECK(many->keys[1].first == "span");
  CHECK(many->without == 6);
}
