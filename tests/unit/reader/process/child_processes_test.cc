// Tests the two ways to find the children of a process: by its threads, and by all processes.
#include "process/child_processes.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
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

bool is_found(const Child& child) {
  const auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  const std::vector<Pid> found = child_processes(**self);
  return std::ranges::count(found, child.pid()) == 1;
}

}  // namespace

TEST_CASE("child processes: they are found whether the process has few threads or thousands") {
  const Child child;
  CHECK(is_found(child));
  // Twice as many threads as there are processes, and some more: /proc has a link for each process.
  struct stat proc {};
  REQUIRE(::stat("/proc", &proc) == 0);
  const std::size_t count = 3 * static_cast<std::size_t>(proc.st_nlink) + 100;
  std::latch over(1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&] { over.wait(); });
  CHECK(is_found(child));
  over.count_down();
  for (std::thread& thread : threads) thread.join();
}
