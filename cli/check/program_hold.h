// The first thread of a program that check has started, traced from its beginning to its end, so
// that it stands still at the two moments at which a look cannot come too early or too late: its
// libraries are loaded and none of its own code has run; and it is about to end.
//
// ptrace belongs to the calling thread: everything here is called on the one that has started the
// program. Where the kernel refuses, nothing is held, and only the program's end is waited for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/step/breakpoints.h"
#include "labelscope/ids.h"
#include "labelscope/snapshot.h"

namespace labelscope::cli {

// Whether executing this command gives the process rights that its user does not have: the kernel
// takes them from a program that is traced.
bool gains_rights(const std::string& command);

class ProgramHold {
 public:
  enum class Moment { kNone, kLoaded, kEnding, kEnded };

  explicit ProgramHold(Pid pid) : pid_(pid) {}
  ProgramHold(const ProgramHold&) = delete;
  ProgramHold& operator=(const ProgramHold&) = delete;
  ~ProgramHold() { let_go(); }

  // Before the program is executed. Not for a command that gains rights.
  void seize();
  // Attends to the thread's stops for so long, or until one of the moments: at kLoaded and kEnding
  // it stands still until go_on().
  Moment wait(std::chrono::nanoseconds time);
  // Holds it at any other moment, until go_on(), if it stops soon. Then, or called where it stands,
  // it ends at once if it is killed, though its tracer is busy with memory that never comes.
  void stop();
  // It was asked to stop a short time ago and has not: ask again before anything is said of it.
  bool is_awaited() const;
  void go_on();
  // For snapshot_process(), while it is held or did not stop; nullopt: it is not traced.
  std::optional<HeldThread> thread() const;
  // From here on the program runs as if it had never been traced.
  void let_go();
  // Once it has ended; nullopt: somebody else has collected its status.
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
  std::optional<Clock::time_point> asked_;  // to stop, in vain as yet
  bool mortal_ = false;                     // it makes no last stop
  int signal_ = 0;                          // that it stands still on the way to
  Moment noticed_ = Moment::kNone;          // while it was being stopped
  std::optional<Breakpoints> breakpoints_;
  std::optional<Address> entry_;  // with our breakpoint
  std::optional<int> wait_status_;
};

}  // namespace labelscope::cli
