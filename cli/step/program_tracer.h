// Steps a program: finds out what each stop of a thread means, passes it to the thread's
// ThreadStepper, and resumes the thread.
//
//   TracedThreads: whose event is it?
//        |
//        v
//   handle_stop(): what does it mean?  --> ThreadStepper: where is the thread, what has it done?
//        |                                     --> ThreadLabels: have its labels changed?
//        v                                             --> UpdateJudge: was that an update?
//   resume(): step one instruction, or run until                 --> StepFindings
//   a breakpoint, a watchpoint or a signal
//
// Breakpoints are in memory that all threads share. A thread at a breakpoint must execute the
// replaced instruction, which must be in memory for that one step. Another thread could run past
// the breakpoint meanwhile. So all others are held for that step (execute_alone()).
//
// Processes that the program forks are not checked. They stay traced, so that they end with the
// program. They run without breakpoints, unless they share its memory.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct TracerOptions {
  DeclaredUpdates declared;
  FileNamer* namer = nullptr;
  std::uint64_t max_updates = 0;    // 0: no bound
  std::function<Status()> release;  // lets the program execute, once it is traced
  SteppedProcess::OnLoaded on_loaded;
  std::function<void(const CheckEffort&)> progress;  // called often; may be empty
};

// Returns when the program has ended. Kills the processes that it has started and that still run.
// Fails with kPermission if the kernel refuses ptrace; the error has the reason.
Status trace_program(Pid pid, const TracerOptions& options, StepRecord& record);

}  // namespace labelscope::cli
