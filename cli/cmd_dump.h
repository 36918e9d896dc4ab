// labelscope dump: the labels of every thread, now or when the process died.
#pragma once

#include "cli/options.h"

namespace labelscope::cli {

// Returns the exit status (exit_status.h): that of the first process that could not be shown.
int run_dump(const DumpOptions& options);

}  // namespace labelscope::cli
