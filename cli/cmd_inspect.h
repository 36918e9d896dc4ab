// labelscope inspect: from files to what they publish.
#pragma once

#include "cli/options.h"

namespace labelscope::cli {

// Returns the exit status (exit_status.h).
int run_inspect(const InspectOptions& options);

}  // namespace labelscope::cli
