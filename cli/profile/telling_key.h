// What is used of each label key, and which key says most about a new profile.
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

// By key, all of them the profile's own. A key of two publishers in one sample is one sample.
std::map<std::string_view, KeyUse> count_keys(const Profile& profile);

// Of the keys with several values, the one on most samples; of equal ones, the one with the fewest
// values. Empty if there are no labels, or only keys with another value for each piece of work
// (a request ID).
std::string telling_key(const Profile& profile);

}  // namespace labelscope::cli
