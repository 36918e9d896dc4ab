// Makes a ProcessDump of a process or a core file: plans, reads every thread once, explains, names.
#pragma once

#include "cli/dump/process_dump.h"
#include "cli/options/dump_options.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {

// Fails with kVanished or kNotFound if there is no such process, and with kPermission if it may not
// be read.
Result<ProcessDump> dump_by_ptrace(Pid pid, const DumpOptions& options, FileNamer& namer,
                                   const SymbolizerOptions& symbolizing);
// It stops nothing, and so it takes no stacks.
Result<ProcessDump> dump_by_bpf(Pid pid, const DumpOptions& options);

// Whether the thread did not stop in time because others use the processors.
bool waits_for_processor(const ThreadSnapshot& thread);
// Reads such threads of a dump by ptrace again, without waiting for them. If it fails, nothing has
// changed.
Status read_late_by_bpf(ProcessDump& dump, const DumpOptions& options);

Result<ProcessDump> dump_core(const DumpOptions& options, FileNamer& namer,
                              const SymbolizerOptions& symbolizing);

}  // namespace labelscope::cli
