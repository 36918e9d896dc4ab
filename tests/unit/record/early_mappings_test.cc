// Tests the lists of mappings that are read before planning.
#include "cli/record/early_mappings.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>

#include "cli/record/tracked_process.h"
#include "process/named_mappings.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A child that waits, and executes another program when it is asked to.
class Child {
 public:
  Child() {
    REQUIRE(::pipe(pipe_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    char byte = 0;
    if (::read(pipe_[0], &byte, 1) == 1) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int end : pipe_) ::close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Pid pid() const { return Pid{pid_}; }
  std::unique_ptr<LiveProcess> open() const {
    auto process = LiveProcess::open(pid());
    REQUIRE(process);
    return *std::move(process);
  }
  void execute() const {
    REQUIRE(::write(pipe_[1], "x", 1) == 1);
    while (open()->comm() != "sleep") ::usleep(1000);
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = 0;
};

std::ptrdiff_t own_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("early mappings: they are those of the process, once") {
  const Child child;
  EarlyMappings early;
  const std::ptrdiff_t threads = own_threads();
  early.begin({child.pid()});
  while (own_threads() > threads) ::usleep(100);  // settle() leaves out what was not begun
  early.settle();
  CHECK(own_threads() == threads);
  const auto taken = early.take(*child.open());
  const auto now = named_mappings(*child.open());
  REQUIRE(taken);
  REQUIRE(now);
  CHECK(std::ranges::equal(*taken, *now, {}, &Mapping::start, &Mapping::start));
  CHECK_FALSE(early.take(*child.open()));
}

TEST_CASE("early mappings: those of another program do not count") {
  const Child child;
  EarlyMappings early;
  const std::ptrdiff_t threads = own_threads();
  early.begin({child.pid()});
  while (own_threads() > threads) ::usleep(100);
  early.settle();
  child.execute();
  CHECK_FALSE(early.take(*child.open()));
}

TEST_CASE("early mappings: a process that is planned with them is planned once more at once") {
  const Child child;
  ModuleTable modules;
  ProcessLabelReader none({});
  TrackedProcess process(child.pid(), modules);
  REQUIRE(process.refresh(none, *named_mappings(*child.open())));
  CHECK(process.plan().modules != 0);
  CHECK(process.plan_due(TrackedProcess::Clock::now()));
  REQUIRE(process.refresh(none));
  CHECK_FALSE(process.plan_due(TrackedProcess::Clock::now()));
}
