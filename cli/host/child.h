// The program after `--`: started, held back until sampling has begun, waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/host/signals.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Child {
 public:
  // What becomes of the program if the thread that started it ends first, SIGKILL included.
  enum class IfOrphaned { kGoesOn, kIsKilled };

  // Forks. The child waits for release() before it executes the program, with the signals as they
  // were before `signals` (null: as they are).
  static Result<Child> start(const std::vector<std::string>& command, const Signals* signals,
                             IfOrphaned if_orphaned = IfOrphaned::kGoesOn);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // A child that was never released is ended; one that runs is left alone.
  ~Child();

  Pid pid() const { return pid_; }
  // Lets it execute. Returns the errno of a failed exec, 0 if the program runs.
  int release();
  // The wait status once it has ended; does not block.
  std::optional<int> ended();
  // CPU time of the program and of all its children that were waited for, once it has ended here.
  std::optional<std::uint64_t> time_ns() const { return time_ns_; }
  // For whoever traces it and has collected its status.
  void note_ended(int wait_status) { status_ = wait_status; }

 private:
  Child(Pid pid, UniqueFd gate, UniqueFd report)
      : pid_(pid), gate_(std::move(gate)), report_(std::move(report)) {}
  Pid pid_;
  UniqueFd gate_;    // closing it after one byte lets the child go on
  UniqueFd report_;  // closes on exec, or brings the errno
  std::optional<int> status_;
  std::optional<std::uint64_t> time_ns_;
};

// The file that a command means, found as execvp() does.
std::string program_path(const std::string& command);
// It, for whoever wants to know what is in it; invalid where it cannot be read.
UniqueFd open_program(const std::string& command);

// Exit status of a shell for this wait status: the program's own, or 128 plus the signal.
int shell_status(int wait_status);

}  // namespace labelscope::cli
