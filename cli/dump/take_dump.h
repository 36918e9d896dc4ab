// From a process or a core file to a ProcessDump: plan, read every thread once, explain, name.
#pragma once

#include "cli/dump/process_dump.h"
#include "cli/options/dump_options.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {

// kVanished, kNotFound: no such process. kPermission: refused, and why.
Result<ProcessDump> dump_by_ptrace(Pid pid, const DumpOptions& options, FileNamer& namer,
                                   const SymbolizerOptions& symbolizing);
// Stops nothing, and so takes no stacks.
Result<ProcessDump> dump_by_bpf(Pid pid, const DumpOptions& options);

// It did not stop in time because others have the processors.
bool waits_for_processor(const ThreadSnapshot& thread);
// Such threads of a dump by ptrace, read without waiting for them; it fails as a whole, and then
// nothing has changed.
Status read_late_by_bpf(ProcessDump& dump, const DumpOptions& options);

Result<ProcessDump> dump_core(const DumpOptions& options, FileNamer& namer,
                              const SymbolizerOptions& symbolizing);

}  // namespace labelscope::cli
