// The commands of labelscope, each in a cmd_*.cc. They return the exit status (host/exit_status.h).
#pragma once

#include "cli/options/command_line.h"

namespace labelscope::cli {

// From a running process to files, a summary and a ledger. Of a command that it has started, its
// own status.
int run(const RecordOptions& options);
// From recordings to the same files, summaries and numbers.
int run(const ReportOptions& options);
// From two recordings to what differs.
int run(const DiffOptions& options);
// The labels of every thread, now or when the process died. The status is that of the first process
// that could not be shown.
int run(const DumpOptions& options);
// From files to what they publish.
int run(const InspectOptions& options);
// From files or a process to a verdict.
int run(const CheckOptions& options);

}  // namespace labelscope::cli
