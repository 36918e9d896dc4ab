// The program after `--`: it is started, held back until sampling has begun, and waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/host/signals.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Child {
 public:
  // Whether the program outlives the thread that started it, which may end by SIGKILL, too.
  enum class IfOrphaned { kGoesOn, kIsKilled };

  // What a program that labelscope runs for itself writes to. It is the first of a process group of
  // its own, so that Ctrl-C is labelscope's alone, and reads nothing.
  struct Output {
    int stdout_fd;
    int stderr_fd;
  };

  // Forks. The child waits for release() before it executes the program, with the signal settings
  // from before `signals` changed them (null: with the current ones).
  static Result<Child> start(const std::vector<std::string>& command, const Signals* signals,
                             IfOrphaned if_orphaned = IfOrphaned::kGoesOn,
                             const std::optional<Output>& output = std::nullopt);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Ends a child that was never released. A program that runs is left alone.
  ~Child();

  Pid pid() const { return pid_; }
  // Lets the child execute the program. Returns the errno of a failed exec, 0 if the program runs.
  int release();
  // Its wait status once it has ended; does not block.
  std::optional<int> ended();
  // CPU time of the program and of all its children that were waited for; set once ended() has
  // returned its status.
  std::optional<std::uint64_t> time_ns() const { return time_ns_; }
  // A tracer that has collected its status reports it by this.
  void note_ended(int wait_status) { status_ = wait_status; }

 private:
  Child(Pid pid, UniqueFd gate, UniqueFd report)
      : pid_(pid), gate_(std::move(gate)), report_(std::move(report)) {}
  Pid pid_;
  UniqueFd gate_;    // writing one byte and closing it releases the child
  UniqueFd report_;  // closes on a successful exec, or carries the errno
  std::optional<int> status_;
  std::optional<std::uint64_t> time_ns_;
};

// Returns the file that a command means, found as execvp() does.
std::string program_path(const std::string& command);
// That file, opened so that its contents can be read; invalid if it cannot be read.
UniqueFd open_program(const std::string& command);

// Returns the exit status that a shell shows for this wait status: the program's own, or 128 plus
// the signal.
int shell_status(int wait_status);

}  // namespace labelscope::cli
