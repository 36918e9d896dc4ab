// Several recordings as one.
#pragma once

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// kUnsupported: one counts CPU time, the other all time, or another value: which have no sum.
Status check_same_values(const Profile& one, const Profile& other);

// Adds the samples of `from`, their times moved so that both recordings lie where they lay by the
// clock of the day. Fails as check_same_values().
Status merge(Profile& to, Profile from);

}  // namespace labelscope::cli
