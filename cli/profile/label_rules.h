// Which labels are kept, and how: --label-deny, --label-allow, --label-hash.
//
// A key with another value for each request makes as many label sets as there are samples. Left out,
// or put into 256 groups, it makes few; then equal rows meet again, and profiles stay small.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

struct LabelRules {
  std::vector<std::string> deny;   // keys that are left out
  std::vector<std::string> allow;  // unless empty, keys not in here or in `hash` are left out, too
  std::vector<std::string> hash;   // keys whose values become one of 256: "#00" to "#ff"
  bool empty() const { return deny.empty() && allow.empty() && hash.empty(); }
};

// How many labels the rules have met. Nothing is left out without being counted.
struct LabelChanges {
  std::uint64_t left_out = 0;
  std::uint64_t hashed = 0;
  LabelChanges& operator+=(const LabelChanges& other) {
    left_out += other.left_out;
    hashed += other.hashed;
    return *this;
  }
};

// Keys of labels that came under the rules, as far as rules name them.
using MetKeys = std::set<std::string>;
// Of each key that a rule names and no label has: "--label-deny KEY: no label has this key". Bytes.
std::vector<std::string> unmet_rules(const LabelRules& rules, const MetKeys& met);

// The ledger's counters of them: a label of two samples counts twice.
void count_labels(const LabelChanges& changes, Ledger& ledger);

// The same value has the same hash in every recording, so that they can be compared.
LabelChanges apply_rules(const LabelRules& rules, LabelSet& labels, MetKeys& met);

// To all label sets. Sets that become equal are one, and so are rows without a time; the ledger
// counts.
MetKeys apply_rules(const LabelRules& rules, Profile& profile);

}  // namespace labelscope::cli
