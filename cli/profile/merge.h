// Several recordings as one.
#pragma once

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Adds the samples of `from`, their times moved so that both recordings lie where they lay by the
// clock of the day. kUnsupported: one counts CPU time, the other all time, which have no sum.
Status merge(Profile& to, Profile from);

}  // namespace labelscope::cli
