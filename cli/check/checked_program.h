// A program that check has started: held back until it is wanted, and in the end gone with all that
// it has started itself, however it tries to get away (a fork whose parent ends becomes a child of
// labelscope, not of init).
//
// If labelscope is killed, the kernel kills the program, too; what the program has started is then
// beyond anybody's reach. One at a time in a process, and from one thread.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/record/child.h"
#include "cli/record/signals.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class CheckedProgram {
 public:
  // Forked; release() lets it execute the program, with the signals as they were before `signals`
  // (null: as they are).
  static Result<CheckedProgram> start(const std::vector<std::string>& command,
                                      const Signals* signals);
  CheckedProgram(CheckedProgram&&) noexcept;
  CheckedProgram& operator=(CheckedProgram&&) = delete;
  ~CheckedProgram();  // what is left is killed

  Pid pid() const { return child_.pid(); }
  // kNotFound, kUnsupported (all else): it cannot be executed, and why.
  Status release();
  // Its wait status once it has ended; does not block.
  std::optional<int> ended() { return child_.ended(); }
  // For whoever traces it and has collected its status.
  void note_ended(int wait_status) { child_.note_ended(wait_status); }

  // The program and what it has started, directly or not, as far as they have not ended.
  std::vector<Pid> processes() const;
  // Kills them all, and collects nobody's status: also from another thread, while the program is
  // traced.
  void kill_all() const;

  struct Ending {
    std::vector<std::string> ended;    // "sleep (12)"
    std::vector<std::string> running;  // those that could not be ended
  };
  // Asks all of them to end (SIGTERM), waits for up to `grace`, and kills those that are left.
  Ending end(std::chrono::milliseconds grace);

 private:
  CheckedProgram(std::string name, Child child, std::set<Pid> others, bool was_reaper)
      : name_(std::move(name)),
        child_(std::move(child)),
        others_(std::move(others)),
        was_reaper_(was_reaper) {}
  // All that there are, those included that have ended and were not collected.
  std::vector<Pid> family() const;
  void signal_all(int signal, std::set<Pid>& seen, std::vector<std::string>& names) const;

  std::string name_;
  Child child_;
  std::set<Pid> others_;  // children of labelscope that are none of the program's
  bool was_reaper_ = false;
  bool owned_ = true;
};

}  // namespace labelscope::cli
