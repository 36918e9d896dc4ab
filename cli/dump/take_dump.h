// Makes a ProcessDump of a process or a core file: plans, reads every thread once, explains, names.
#pragma once

#include <cstddef>
#include <string>

#include "cli/dump/process_dump.h"
#include "cli/options/dump_options.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {

// Fails with kVanished or kNotFound if there is no such process, and with kPermission if it may not
// be read.
Result<ProcessDump> dump_by_ptrace(Pid pid, const DumpOptions& options, FileNamer& namer,
                                   const SymbolizerOptions& symbolizing);
// It takes no stacks. `stops_running`: threads that ran while they were read are read again, and
// those that ran each time are stopped for a moment. These compute, so hardly any of them is in a
// system call that the stop could interrupt. All others are not stopped, and read the same.
Result<ProcessDump> dump_by_bpf(Pid pid, const DumpOptions& options, bool stops_running);

// Those that did not stop for ptrace in time.
struct LateThreads {
  std::size_t waiting_for_processor = 0;  // others have the processors
  std::size_t waiting_in_kernel = 0;      // for a disk, or in vfork(): nothing interrupts that
  std::string frozen;  // why their process does not run (FrozenGroup::reason()), if it is frozen
  std::size_t all() const { return waiting_for_processor + waiting_in_kernel; }
  std::string what_they_do() const;
};
LateThreads late_threads(const ProcessSnapshot& snapshot);
// Reads such threads of a dump by ptrace again, without waiting for them. If it fails, nothing has
// changed.
Status read_late_by_bpf(ProcessDump& dump, const DumpOptions& options);

Result<ProcessDump> dump_core(const DumpOptions& options, FileNamer& namer,
                              const SymbolizerOptions& symbolizing);

}  // namespace labelscope::cli
