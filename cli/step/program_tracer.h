// Traces all threads of a program: waits for a stop, tells the thread's ThreadStepper, and lets the
// thread go on.
//
//   waitpid() --> stop of a thread --> its ThreadStepper: next()?  --> run until a breakpoint,
//      ^                                                           |   a watchpoint or a signal
//      |                                                           +-> step one instruction
//      +------------------------------------------------------------------+
//
// ptrace belongs to the calling thread: call everything here on the thread that has started the
// program.
//
// Breakpoints are in memory that all threads share. A thread at a breakpoint must execute the
// replaced instruction. No other thread may run past the breakpoint meanwhile, so all others are
// held for that one instruction (program_tracer_resume.cc).
//
// Processes that the program forks are not checked. They stay traced, so that they end with the
// program. They run without breakpoints, unless they share its memory.
#pragma once

#include <sys/wait.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cli/step/step_record.h"
#include "cli/step/stepped_process.h"
#include "cli/step/thread_stepper.h"
#include "cli/step/tracee.h"

namespace labelscope::cli {

struct TracerOptions {
  std::uint64_t max_updates = 0;  // 0: no bound
  // Called when the loaded files may have changed. The program is stopped then.
  std::function<void(const SteppedProcess&)> on_loaded;
};

class ProgramTracer {
 public:
  ProgramTracer(Pid pid, const DeclaredUpdates& declared, DebugFiles& debug_files,
                TracerOptions options, StepRecord& record);

  // Call it before the program is executed. kPermission: the kernel refuses ptrace; the error tells
  // why.
  Status seize();
  // Returns when the program has ended. Kills the processes that it has started and that still run.
  void run();

  // Its wait status; nullopt: other code has collected it.
  std::optional<int> wait_status() const { return wait_status_; }
  // Why nothing could be checked, if nothing could.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  static constexpr std::chrono::milliseconds kFirstLook{20};
  // Options of waitpid(): only what the calling thread has started or traces.
  static constexpr int kOurs = __WALL | __WNOTHREAD;

  struct TracedThread {
    Tid tid{};
    std::unique_ptr<ThreadStepper> stepper;  // null: a thread of another process
    Position at;                             // where it was when it was resumed
    bool running = false;
    bool stepping = false;          // resumed by one instruction
    bool entering_handler = false;  // it may stop at the first instruction of a signal handler
    bool shares_memory = true;
    std::vector<Address> watched;
    // It runs through an exclusive sequence, until it comes to a breakpoint at one of these.
    std::vector<Address> exits;
    TimePoint next_look;
    Clock::duration look_interval = kFirstLook;
  };
  struct Event {
    Tid tid{};
    int status = 0;
  };

  std::optional<Event> next_event();
  void handle(const Event& event);
  bool is_in_call(const TracedThread& thread);
  bool handle_plain_step(TracedThread& thread, int status);
  void handle_stop(TracedThread& thread, int status);
  void handle_trap(TracedThread& thread, Stop::Kind kind);
  void handle_breakpoint(TracedThread& thread, Position position);
  void notice_breakpoint(TracedThread& thread, const Position& position);
  void handle_exec(TracedThread& thread);
  void handle_end(Tid tid, int status);
  void interrupt_for_looks();
  void look_at(TracedThread& thread);
  void tell_what_is_loaded();
  void tell_counts();
  void adopt(Tid tid);
  void stop_looking();
  void kill_rest();

  // In program_tracer_resume.cc.
  void resume(TracedThread& thread, int signal = 0);
  void resume_at(TracedThread& thread, const Position& position, int signal);
  void set_watchpoints(TracedThread& thread, Resume how);
  void execute_alone(TracedThread& thread, const Position& position);
  std::vector<TracedThread*> hold_others(const TracedThread& thread);
  bool hold(TracedThread& thread);
  bool run_through_exclusives(TracedThread& thread, const Position& position);
  void take_back_exits(TracedThread& thread);

  Pid pid_;
  const DeclaredUpdates& declared_;
  DebugFiles& debug_files_;
  TracerOptions options_;
  StepRecord& record_;
  std::unique_ptr<SteppedProcess> process_;  // null before the first exec
  std::map<Tid, TracedThread> threads_;
  std::deque<Event> waiting_;  // stops that came while we waited for other threads
  std::uint64_t looks_told_ = 0;
  std::optional<int> wait_status_;
  std::optional<Error> failure_;
  bool blind_ = false;  // the check is over: threads only run
};

}  // namespace labelscope::cli
