// Chooses the label that says most about a new profile.
#pragma once

#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Of the keys with several values, the one on most samples; of equal ones, the one with the fewest
// values. Empty if there are no labels, or only keys with another value for each piece of work
// (a request ID).
std::string telling_key(const Profile& profile);

}  // namespace labelscope::cli
