// How often each label key is used, and which key describes a new profile best.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

struct KeyUse {
  std::uint64_t samples = 0;
  std::uint64_t weight_ns = 0;
  std::set<std::string_view> values;
};

// Counts by key; the keys are the profile's own strings. A key of two publishers in one sample
// counts as one sample.
std::map<std::string_view, KeyUse> count_keys(const Profile& profile);

// Returns the key that is on most samples, of those with several values; if two are equal, the one
// with fewer values. Empty if there are no labels, or only keys with another value for each piece
// of work (a request ID).
std::string best_key(const Profile& profile);

}  // namespace labelscope::cli
