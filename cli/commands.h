// The commands of labelscope, each in a cmd_*.cc of its own. They return the exit status
// (host/exit_status.h).
#pragma once

#include "cli/options/command_line.h"

namespace labelscope::cli {

// Samples running processes and writes files, a summary and a ledger. For a command that it has
// started it returns that command's status.
int run(const RecordOptions& options);
// Makes the same files, summaries and numbers from recordings.
int run(const ReportOptions& options);
// Compares two recordings.
int run(const DiffOptions& options);
// Shows the labels of every thread, now or when the process died. The status is that of the first
// process that could not be shown.
int run(const DumpOptions& options);
// Shows what files publish.
int run(const InspectOptions& options);
// Judges files or processes.
int run(const CheckOptions& options);
// Shows what a recording would have here, and how to mend what it would lack.
int run(const DoctorOptions& options);

}  // namespace labelscope::cli
