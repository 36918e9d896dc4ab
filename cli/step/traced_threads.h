// Who stops: waits for the threads of a program, and of the processes that it forks, and holds some
// of them still. It knows nothing of labels and of breakpoints: what a thread has of both is kept
// for program_tracer.h.
//
// ptrace belongs to the calling thread: call everything here on the thread that has started the
// program.
#pragma once

#include <sys/wait.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cli/step/thread_stepper.h"
#include "cli/step/tracee.h"

namespace labelscope::cli {

struct TracedThread {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstLook{20};

  Tid tid{};
  Kin kin = Kin::kThread;
  std::unique_ptr<ThreadStepper> stepper;  // null: it only runs
  Orders orders;                           // of the stepper, after the last stop
  Position at;                             // where it was when it was resumed
  Flow flow = Flow::kNext;                 // of the instruction there
  bool running = false;
  bool stepping = false;   // resumed by one instruction
  bool signalled = false;  // resumed with a signal, of which it may have a handler
  std::vector<Address> watched;
  // It runs through an exclusive sequence, until it comes to a breakpoint at one of these.
  std::vector<Address> exits;
  Clock::time_point next_look;
  Clock::duration look_interval = kFirstLook;
};

class TracedThreads {
 public:
  struct Event {
    Tid tid{};
    int status = 0;  // of wait4()
  };

  explicit TracedThreads(Pid program) : program_(program) {}

  // Call it before the program is executed. kPermission: the kernel refuses ptrace; the error tells
  // why.
  Status seize();
  // Nothing: all have ended. Calls `interrupted` when a signal has come instead of an event.
  std::optional<Event> next(const std::function<void()>& interrupted);
  // An event that is to be handled before all others.
  void put_first(Event event) { waiting_.push_front(event); }

  // Null: it is not known yet, or no longer.
  TracedThread* find(Tid tid);
  TracedThread& add(Tid tid, Kin kin);
  void remove(Tid tid) { threads_.erase(tid); }
  // After an exec, of the program's threads only the first one is there.
  void remove_all_but_first();
  void for_each(const std::function<void(TracedThread&)>& call);
  void kill_all();

  // Stops all running threads in the memory of this one, and returns those that can be let go as if
  // nothing had happened. The others run no code before their events are handled.
  std::vector<TracedThread*> hold_others(const TracedThread& thread);
  // Waits for this one thread. Nothing: other code has collected its end.
  std::optional<int> wait_for(TracedThread& thread);

 private:
  bool hold(TracedThread& thread);

  Pid program_;
  std::map<Tid, TracedThread> threads_;
  std::deque<Event> waiting_;  // those that came while we waited for other threads
};

}  // namespace labelscope::cli
