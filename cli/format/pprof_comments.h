// What a pprof file has no field for, as comments (`go tool pprof -comments`).
#pragma once

#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// How it was recorded, the ledger, the publishers of each process, and modules without names and
// why.
std::vector<std::string> pprof_comments(const Profile& profile);

}  // namespace labelscope::cli
