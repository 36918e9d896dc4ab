// A program that check has started. It waits until release(), and in the end it is gone, with every
// process that it has started. None can get away: if a process ends, its children become children
// of labelscope and not of init.
//
// If labelscope is killed, the kernel kills the program, too, but not the processes that the
// program has started. Only one CheckedProgram at a time may exist, used from one thread.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/report.h"
#include "cli/host/child.h"
#include "cli/host/signals.h"
#include "cli/host/watchdog.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class CheckedProgram {
 public:
  // Forks. release() then lets the child execute the program, with the signal settings from before
  // `signals` changed them (null: with the current ones).
  static Result<CheckedProgram> start(const std::vector<std::string>& command,
                                      const Signals* signals);
  CheckedProgram(CheckedProgram&&) noexcept;
  CheckedProgram& operator=(CheckedProgram&&) = delete;
  ~CheckedProgram();  // kills what is left

  Pid pid() const { return child_.pid(); }
  // Fails if the program cannot be executed: with kNotFound, or with kUnsupported for all other
  // reasons.
  Status release();
  // Its wait status once it has ended; does not block.
  std::optional<int> ended() { return child_.ended(); }
  // A tracer that has collected the status reports it by this.
  void note_ended(int wait_status) { child_.note_ended(wait_status); }

  // Returns the program and all processes that it has started, directly or not, if they have not
  // ended.
  std::vector<Pid> processes() const;
  // Kills them all, but collects no status. So another thread may call this while the program is
  // traced.
  void kill_all() const;

  // Asks all of them to end (SIGTERM), waits up to `grace`, and kills those that are left. Writes
  // into the report how the program ended, and why if the check has ended it.
  void finish(std::chrono::milliseconds grace, Watchdog::Reason reason,
              std::chrono::milliseconds timeout, CheckReport& report);

 private:
  CheckedProgram(std::string name, Child child, std::set<Pid> others, bool was_reaper)
      : name_(std::move(name)),
        child_(std::move(child)),
        others_(std::move(others)),
        was_reaper_(was_reaper) {}
  struct Ending {
    std::vector<std::string> ended;    // "sleep (12)"
    std::vector<std::string> running;  // nothing could end these
  };
  Ending end(std::chrono::milliseconds grace);
  // Returns those of processes(), and zombies: ended processes whose status was not collected yet.
  std::vector<Pid> family() const;
  void signal_all(int signal, std::set<Pid>& seen, std::vector<std::string>& names) const;

  std::string name_;
  Child child_;
  std::set<Pid> others_;  // children of labelscope that do not belong to the program
  bool was_reaper_ = false;
  bool owned_ = true;
};

}  // namespace labelscope::cli
