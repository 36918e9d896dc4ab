// A process whose threads wait in many ways, until this object goes.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "labelscope/ids.h"

namespace labelscope::test {

inline void compute_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

class WaitingProgram {
 public:
  // The first thread waits from before the recording until behind it.
  WaitingProgram() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
  }
  WaitingProgram(const WaitingProgram&) = delete;
  WaitingProgram& operator=(const WaitingProgram&) = delete;
  ~WaitingProgram() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  [[noreturn]] static void run() {
    using std::chrono::milliseconds;
    static std::mutex lock;
    static std::array<int, 2> there;
    static std::array<int, 2> back;
    if (::pipe(there.data()) != 0 || ::pipe(back.data()) != 0) ::_exit(1);
    std::vector<std::thread> threads;
    const auto again_and_again = [&](auto act) {
      threads.emplace_back([act] {
        for (;;) act();
      });
    };
    again_and_again([] {  // short waits
      compute_for(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(3));
    });
    again_and_again([] { std::this_thread::sleep_for(milliseconds(230)); });  // several windows
    again_and_again([] {  // threads that end soon
      std::thread([] {
        std::this_thread::sleep_for(milliseconds(1));
        compute_for(milliseconds(1));
      }).join();
    });
    for (int i = 0; i < 2; ++i) {
      again_and_again([] {  // a lock
        const std::lock_guard held(lock);
        compute_for(std::chrono::microseconds(300));
        std::this_thread::sleep_for(milliseconds(1));
      });
    }
    again_and_again([] {  // each other
      char byte = 0;
      static_cast<void>(::write(there[1], &byte, 1));
      static_cast<void>(::read(back[0], &byte, 1));
      std::this_thread::sleep_for(milliseconds(1));
    });
    again_and_again([] {
      char byte = 0;
      static_cast<void>(::read(there[0], &byte, 1));
      static_cast<void>(::write(back[1], &byte, 1));
    });
    for (;;) ::pause();
  }

  pid_t pid_;
};

}  // namespace labelscope::test
