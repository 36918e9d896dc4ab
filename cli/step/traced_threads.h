// Waits for the threads of a program, and of the processes that it forks, to stop, and holds some
// of them still. It knows nothing of labels and of breakpoints, but keeps what program_tracer.h
// knows of them for each thread.
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
  Orders orders;                           // the stepper's answer to the last stop
  Position at;                             // where it was when it was resumed
  Flow flow = Flow::kNext;                 // kind of the instruction there
  bool running = false;
  bool stepping = false;   // resumed by one instruction
  bool signalled = false;  // resumed with a signal, for which it may have a handler
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
    int status = 0;  // status of wait4()
  };

  explicit TracedThreads(Pid program) : program_(program) {}

  // Call it before the program is executed. Fails with kPermission if the kernel refuses ptrace;
  // the error has the reason.
  Status seize();
  // Returns nullopt if all have ended. Calls `interrupted` when a signal has come instead of an
  // event.
  std::optional<Event> next(const std::function<void()>& interrupted);
  // Puts an event before all others.
  void put_first(Event event) { waiting_.push_front(event); }

  // Null: the thread is not known yet, or no longer.
  TracedThread* find(Tid tid);
  TracedThread& add(Tid tid, Kin kin);
  void remove(Tid tid) { threads_.erase(tid); }
  // After an exec, only the first of the program's threads is left.
  void remove_all_but_first();
  void for_each(const std::function<void(TracedThread&)>& call);
  void kill_all();

  // Stops all running threads in the memory of this one, and returns those that can be resumed as
  // if nothing had happened. The others run no code before their events are handled.
  std::vector<TracedThread*> hold_others(const TracedThread& thread);
  // Waits for this one thread. nullopt: other code has collected its end.
  std::optional<int> wait_for(TracedThread& thread);

 private:
  bool hold(TracedThread& thread);

  Pid program_;
  std::map<Tid, TracedThread> threads_;
  std::deque<Event> waiting_;  // events that came while we waited for other threads
};

}  // namespace labelscope::cli
