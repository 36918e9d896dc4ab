// This decides which labels are kept, and how: --label-deny, --label-allow, --label-hash, --names.
// (How many values of a label are kept is decided at the end: value_caps.h.)
//
// A key with another value for each request makes as many label sets as there are samples. If it is
// left out, or put into 256 groups, there are few sets; then rows are equal again, and profiles
// stay small.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/profile/value_names.h"

namespace labelscope::cli {

struct LabelRules {
  std::vector<std::string> deny;  // keys to leave out
  // unless this is empty, keys that are neither here nor in `hash` are left out, too
  std::vector<std::string> allow;
  std::vector<std::string> hash;  // keys whose values become one of 256 groups, "#00" to "#ff"
  NamesOfKeys names{};            // what stands for a value; a value without a name stays
  bool empty() const { return deny.empty() && allow.empty() && hash.empty() && names.empty(); }
};

// How many labels the rules have changed. Each label that is left out is counted.
struct LabelChanges {
  std::uint64_t left_out = 0;
  std::uint64_t hashed = 0;
  LabelChanges& operator+=(const LabelChanges& other) {
    left_out += other.left_out;
    hashed += other.hashed;
    return *this;
  }
};

// Keys that rules name and labels have. KEY= is there if a value of the label KEY has got a name.
using MetKeys = std::set<std::string>;
// Sentences about the keys that a rule names and no label has: "--label-deny KEY: no label has this
// key". As bytes.
std::vector<std::string> unmet_rules(const LabelRules& rules, const MetKeys& met);

// The ledger's counters of them. A label of two samples counts twice.
void count_labels(const LabelChanges& changes, Ledger& ledger);

// The same value has the same hash in every recording, so that recordings can be compared.
LabelChanges apply_rules(const LabelRules& rules, LabelSet& labels, MetKeys& met);

// Applies the rules to all label sets. Sets that become equal are merged, and so are rows without a
// time. The ledger counts the changes.
MetKeys apply_rules(const LabelRules& rules, Profile& profile);

}  // namespace labelscope::cli
