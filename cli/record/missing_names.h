// Reports, at the end of a recording, which files left frames without names, and why.
#pragma once

#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Lines for people: the files of which something else is left out, such as inlined calls; then how
// many frames have a name, and the files that lack most of them, each with the reason and what
// would help. Empty where nearly all have one.
std::vector<std::string> missing_names(const Profile& profile);

}  // namespace labelscope::cli
