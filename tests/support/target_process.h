// A program under test. The program prints its own truth (thread pointers, addresses, labels) as
// JSON, one object a line, and then the line "ready"; a test compares what labelscope read with it.
// The process ends when the TargetProcess does, even if the test is killed.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "support/truth.h"

namespace labelscope::test {

struct TargetOptions {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value", beside the test's own environment
  std::chrono::milliseconds ready_timeout = std::chrono::seconds(20);
  // True for a program without publishers: what it prints of a thread is not a TruthThread.
  bool own_words = false;
};

class TargetProcess {
 public:
  // Starts the program and waits for "ready". Fails with kVanished if it ended before: the context
  // has the exit status and, if the program gave one in {"cannot": "..."}, the reason. Fails with
  // kLimit if it was not ready in time. The calling thread must outlive the target, since the
  // kernel ends the target with that thread.
  static Result<TargetProcess> spawn(const TargetOptions& options);

  TargetProcess(TargetProcess&& other) noexcept;
  TargetProcess& operator=(TargetProcess&& other) noexcept;
  // Closes the target's stdin, waits a little, and then kills it. It always reaps it.
  ~TargetProcess();

  Pid pid() const { return pid_; }
  // Returns the lines with a "tid", parsed; none of a program with words of its own.
  const std::vector<TruthThread>& threads() const { return threads_; }
  // Returns every JSON line so far, including those of threads().
  const std::vector<nlohmann::json>& lines() const { return lines_; }

  // These are for targets that take commands: one line to stdin, and the wait for the next "ready".
  Status send(std::string_view line);
  Status wait_ready(std::chrono::milliseconds timeout);
  // Closes stdin and waits for the end. Returns the status as waitpid() does.
  Result<int> finish(std::chrono::milliseconds timeout);

 private:
  TargetProcess() = default;
  void end();
  bool reap(std::chrono::milliseconds timeout);
  Status accept_line(const std::string& line);
  Error ended_early();

  Pid pid_{};
  UniqueFd pidfd_;
  UniqueFd to_stdin_;
  UniqueFd from_stdout_;
  std::string program_;
  bool own_words_ = false;
  std::string pending_;  // bytes after the last whole line
  std::optional<int> wait_status_;
  std::vector<TruthThread> threads_;
  std::vector<nlohmann::json> lines_;
};

}  // namespace labelscope::test
