// All threads of a program under ptrace: waits for their stops, tells each one's ThreadStepper, and
// lets them go on. ptrace belongs to the calling thread: everything here must be called on the one
// that has started the program.
//
// Breakpoints are in memory that all threads share. A thread that comes to one must execute the
// instruction that was there, and while it does, the others must not run past: they are held for
// that one instruction.
//
// Processes that the program forks off are not checked. They stay traced so that they end with it,
// and run without breakpoints unless they share its memory.
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
  // Called whenever what is loaded may have changed: the program is stopped.
  std::function<void(const SteppedProcess&)> on_loaded;
};

class ProgramTracer {
 public:
  ProgramTracer(Pid pid, const DeclaredUpdates& declared, DebugFiles& debug_files,
                TracerOptions options, StepRecord& record);

  // Before the program is executed. kPermission: ptrace is refused, and why.
  Status seize();
  // Until it has ended, and all that it has started: what still runs then is killed.
  void run();

  // Its wait status; nullopt: it was collected by somebody else.
  std::optional<int> wait_status() const { return wait_status_; }
  // Why nothing could be checked, if nothing could.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  static constexpr std::chrono::milliseconds kFirstLook{20};
  // For waitpid(): what the calling thread has not started is not its business.
  static constexpr int kOurs = __WALL | __WNOTHREAD;

  struct TracedThread {
    Tid tid{};
    std::unique_ptr<ThreadStepper> stepper;  // null: of another process
    Position at;                             // where it was when it was resumed
    bool running = false;
    bool stepping = false;          // resumed by one instruction
    bool entering_handler = false;  // that instruction may be the first of a signal handler
    bool shares_memory = true;
    std::vector<Address> watched;
    std::vector<Address> exits;  // it runs through an exclusive sequence, to a breakpoint at one
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
  std::deque<Event> waiting_;  // of threads that stopped while others were waited for
  std::uint64_t looks_told_ = 0;
  std::optional<int> wait_status_;
  std::optional<Error> failure_;
  bool blind_ = false;  // nobody looks any more
};

}  // namespace labelscope::cli
