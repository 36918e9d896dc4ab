// Sessions in processes of their own, for tests of whole sessions.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>

#include "cli/record/session.h"
#include "support/catch.h"

namespace labelscope::test {

inline cli::SessionOptions watching(Pid pid) {
  cli::SessionOptions options;
  options.wanted.processes.pids = {pid};
  options.duration = std::chrono::milliseconds(300);
  options.frequency_hz = 199;
  // Neither asks for a worker, which is another program than this test.
  options.call_graph = LS_CALL_GRAPH_NONE;
  options.kernel_stacks = false;
  return options;
}

// A session gives up its rights for good, so each has a process of its own. Returns what it
// has found wrong; empty if nothing.
template <class Act>
std::string in_a_child(const Act& act) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGTERM, SIGINT}) ::signal(signal, SIG_DFL);
    const std::string wrong = act();
    static_cast<void>(::write(ends[1], wrong.data(), wrong.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string wrong;
  std::array<char, 256> bytes{};
  for (ssize_t got = 0; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
    wrong.append(bytes.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) wrong += "; it ended with status " + std::to_string(status);
  return wrong;
}

inline void expect_nothing_wrong(const std::string& wrong) {
  INFO(wrong);
  CHECK(wrong.empty());
}

}  // namespace labelscope::test
