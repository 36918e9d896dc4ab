// labelscope check: from files or a process to a verdict.
#pragma once

#include "cli/options/check_options.h"

namespace labelscope::cli {

// Returns the exit status (exit_status.h).
int run_check(const CheckOptions& options);

}  // namespace labelscope::cli
