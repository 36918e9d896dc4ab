// Names of labels that somebody has asked for, and the names that there are.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Adds the keys of the profile's labels, and our own, which every sample has.
void add_keys(const Profile& profile, std::set<std::string>& keys);

// "a, b, ...": the first of them, escaped; `most` are told.
std::string first_of(const std::set<std::string>& words, std::size_t most);

// Says which keys of `option` no sample has, and which there are.
void warn_of_unknown_keys(const std::vector<std::string>& asked, const std::string& option,
                          const std::set<std::string>& known);

}  // namespace labelscope::cli
