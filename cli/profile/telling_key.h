// Which label to look at first in a profile that nobody has looked at.
#pragma once

#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// The key on most samples that has several values, and of equals the one with the fewest; empty
// where there are no labels, or only keys with a value for each piece of work.
std::string telling_key(const Profile& profile);

}  // namespace labelscope::cli
