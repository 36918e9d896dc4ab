// Steps a program: says what each stop of a thread means, tells the thread's ThreadStepper, and
// lets the thread go on.
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

#include <functional>
#include <memory>
#include <optional>

#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/traced_threads.h"

namespace labelscope::cli {

struct TracerOptions {
  std::uint64_t max_updates = 0;  // 0: no bound
  SteppedProcess::OnLoaded on_loaded;
};

class ProgramTracer {
 public:
  ProgramTracer(Pid pid, const DeclaredUpdates& declared, DebugFiles& debug_files,
                TracerOptions options, StepRecord& record);

  // Call it before the program is executed. kPermission: the kernel refuses ptrace; the error tells
  // why.
  Status seize() { return threads_.seize(); }
  // Returns when the program has ended. Kills the processes that it has started and that still run.
  void run();

  // Its wait status; nullopt: other code has collected it.
  std::optional<int> wait_status() const { return wait_status_; }
  // Why nothing could be checked, if nothing could.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Clock = TracedThread::Clock;

  void handle(const TracedThreads::Event& event);
  TracedThread* adopt(Tid tid);
  void handle_stop(TracedThread& thread, int status);
  void handle_breakpoint(TracedThread& thread, Position position);
  void handle_exec(TracedThread& thread);
  void handle_end(Tid tid, int status);
  bool is_in_call(const TracedThread& thread);
  bool is_plain_step(const TracedThread& thread, int status, const Position& position);
  void look_at(TracedThread& thread);
  void interrupt_for_looks();
  void tell_counts();
  void stop_looking();

  // How a stopped thread goes on.
  void resume(TracedThread& thread, const Position& position, int signal = 0);
  void notice_breakpoint(TracedThread& thread, const Position& position);
  bool has_breakpoint(const TracedThread& thread, Address pc) const;
  void set_watchpoints(TracedThread& thread, Resume how);
  void execute_alone(TracedThread& thread, const Position& position);
  bool run_through_exclusives(TracedThread& thread, const Position& position);
  void take_back_exits(TracedThread& thread);

  Pid pid_;
  const DeclaredUpdates& declared_;
  DebugFiles& debug_files_;
  TracerOptions options_;
  StepRecord& record_;
  std::unique_ptr<SteppedProcess> process_;  // null before the first exec
  TracedThreads threads_;
  std::optional<int> wait_status_;
  std::optional<Error> failure_;
  bool is_over_ = false;  // the check, not the program: threads only run, without steppers
};

}  // namespace labelscope::cli
