// Traces the first thread of a program that check has started, and holds it at two moments:
//
//   exec ... loader ... | kLoaded | main() ........................ | kEnding | exit
//                       ^ all libraries are there,                  ^ the memory is still there
//                         no code of the program has run
//
// Other samples come at random moments. In a short program they may come too early or too late;
// these two cannot.
//
// ptrace belongs to the calling thread: call everything here on the thread that has started the
// program. If the kernel refuses ptrace, nothing is held, and wait() only waits for the program's
// end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/step/breakpoints.h"
#include "labelscope/ids.h"
#include "sampling/snapshot.h"

namespace labelscope::cli {

// Returns whether the command gives rights to its process that the user does not have
// (set-user-ID). A traced program does not get these from the kernel.
bool gains_rights(const std::string& command);

class ProgramHold {
 public:
  enum class Moment { kNone, kLoaded, kEnding, kEnded };

  explicit ProgramHold(Pid pid) : pid_(pid) {}
  ProgramHold(const ProgramHold&) = delete;
  ProgramHold& operator=(const ProgramHold&) = delete;
  ~ProgramHold() { let_go(); }

  // Call it before the program is executed, and not for a command that gains rights.
  void seize();
  // Handles the thread's stops for this time, or until one of the moments. At kLoaded and kEnding
  // the thread is held until go_on().
  Moment wait(std::chrono::nanoseconds time);
  // Holds the thread at any other moment until go_on(), if it stops soon. Also makes it end at once
  // if it is killed, without a last stop: the tracer may be waiting for memory that never comes.
  void stop();
  // Returns whether stop() was called a short time ago and the thread has not stopped yet. In that
  // case ask again before reporting anything about the thread.
  bool is_awaited() const;
  void go_on();
  // Returns the thread for snapshot_process(), while it is held or did not stop. nullopt: it is not
  // traced.
  std::optional<HeldThread> thread() const;
  // After this the program runs as if it had never been traced.
  void let_go();
  // Returns the wait status once the program has ended. nullopt: other code has collected it.
  std::optional<int> wait_status() const { return wait_status_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<int> poll();
  Moment handle(int status);
  void begin_program();
  Moment at_breakpoint();

  Pid pid_;
  bool traced_ = false;
  bool standing_ = false;
  bool listening_ = false;                  // stopped by job control
  std::optional<Clock::time_point> asked_;  // when it was asked to stop; empty if it has stopped
  bool mortal_ = false;                     // it ends without a last stop
  int signal_ = 0;                          // the signal that it was about to get when it was held
  Moment noticed_ = Moment::kNone;          // the moment that came while stop() waited
  std::optional<Breakpoints> breakpoints_;
  std::optional<Address> entry_;  // the address of our breakpoint
  std::optional<int> wait_status_;
};

}  // namespace labelscope::cli
