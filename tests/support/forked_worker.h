// Workers for tests: a fork of the test instead of another program, and workers that misbehave.
// They give up no rights, so they also run where that is not possible (in a user-mode emulator).
#pragma once

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <utility>

#include "cli/worker/channel.h"
#include "cli/worker/launch.h"
#include "cli/worker/worker_main.h"
#include "cli/worker_tasks.h"

namespace labelscope::cli {

// Launches a worker that calls `act` and ends.
inline Launcher forked_worker(std::function<void(Channel&)> act) {
  return [act = std::move(act)](std::uint64_t /*most_memory*/) -> Result<Launched> {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
      return system_error(errno, "socketpair");
    }
    UniqueFd ours(sockets[0]);
    UniqueFd theirs(sockets[1]);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Otherwise Catch2 would report the worker's death as that of the test, and a sanitizer as an
      // error of the program.
      for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGTERM, SIGINT}) {
        ::signal(signal, SIG_DFL);
      }
      ours.reset();
      Channel channel(std::move(theirs), Channel::Files::kTaken);
      act(channel);
      _exit(0);
    }
    return Launched{pid, std::move(ours)};
  };
}

inline void say_ready(Channel& channel) {
  (void)channel.send({Message::Kind::kReady, {}, {}}, std::chrono::seconds(10));
}

// Launches the real worker, which keeps its rights.
inline Launcher honest_worker() {
  return forked_worker([](Channel& channel) {
    say_ready(channel);
    serve_requests(channel, kWorkerTasks);
  });
}

}  // namespace labelscope::cli
