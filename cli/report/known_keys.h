// Compares the names of labels that the user has asked for with the names that exist.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Adds the keys of the profile's labels, and our own, which every sample has.
void add_keys(const Profile& profile, std::set<std::string>& keys);

// Returns "a, b, ...": the first `most` of them, escaped.
std::string first_of(const std::set<std::string>& words, std::size_t most);

// Warns of keys of `option` that no sample has, and names those that exist.
void warn_of_unknown_keys(const std::vector<std::string>& asked, const std::string& option,
                          const std::set<std::string>& known);

}  // namespace labelscope::cli
