// `labelscope record`: from a running process to files, a summary and a ledger.
#pragma once

#include "cli/options.h"

namespace labelscope::cli {

// Returns the exit status (exit_status.h, or the command's own).
int run_record(const RecordOptions& options);

}  // namespace labelscope::cli
