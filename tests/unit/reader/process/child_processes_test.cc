// Tests the two ways to find the children of a process: by its threads, and by all processes.
#include "process/child_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "support/catch.h"

using namespace labelscope;

namespace {

class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Pid pid() const { return Pid{pid_}; }

 private:
  pid_t pid_;
};

// A machine with so many processes is as one that has fewer of them than this process has threads.
bool is_found(const Child& child, std::size_t processes) {
  const auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  const std::vector<Pid> found = child_processes(**self, processes);
  return std::ranges::count(found, child.pid()) == 1;
}

}  // namespace

TEST_CASE("child processes: they are found by the threads of a process, and by all processes") {
  const Child child;
  CHECK(is_found(child, SIZE_MAX));
  std::latch over(1);
  std::thread other([&] { over.wait(); });  // so that half of the threads is one
  CHECK(is_found(child, 0));
  over.count_down();
  other.join();
}

TEST_CASE("child processes: the machine has at least this process and its parent") {
  CHECK(count_of_processes() >= 2);
}
