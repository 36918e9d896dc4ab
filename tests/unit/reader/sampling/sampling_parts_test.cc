// Tests parts of the ptrace sampler that stop nothing: the histogram of stops, labels as bytes, and
// the list of threads.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "ptrace/stop_times.h"
#include "sampling/thread_list.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

using std::chrono::nanoseconds;

}  // namespace

TEST_CASE("stop_times: quantiles are right to within an eighth, the longest exactly") {
  StopTimes times;
  CHECK(times.quantile(0.5) == nanoseconds{0});
  // Adds each duration from 1 to 100,000 ns once.
  for (int i = 1; i <= 100'000; ++i) times.add(nanoseconds(i));
  CHECK(times.count() == 100'000);
  CHECK(times.longest() == nanoseconds(100'000));
  for (double share : {0.001, 0.1, 0.5, 0.9, 0.99}) {
    INFO(share);
    const double exact = share * 100'000;
    const auto seen = static_cast<double>(times.quantile(share).count());
    CHECK(seen >= exact);
    CHECK(seen <= exact * 1.125 + 1);
  }
  CHECK(times.quantile(1.0) == nanoseconds(100'000));
}

TEST_CASE("stop_times: one stop is all quantiles, and no time is out of bounds") {
  StopTimes times;
  times.add(nanoseconds(12'345));
  CHECK(times.quantile(0.5) == nanoseconds(12'345));
  CHECK(times.quantile(0.99) == nanoseconds(12'345));
  times.add(nanoseconds(1));
  CHECK(times.longest() == nanoseconds(12'345));
  times.add(nanoseconds(-5));
  times.add(nanoseconds::max());
  CHECK(times.longest() == nanoseconds::max());
  CHECK(times.quantile(1.0) == nanoseconds::max());
}

TEST_CASE("thread_list: a thread that is there again has not ended") {
  auto list = ThreadList::open(Pid{::getpid()}, false, std::chrono::milliseconds(10));
  REQUIRE(list);
  ListedThread& own = list->threads().at(::getpid());
  own.ended = true;
  REQUIRE(list->refresh());
  CHECK_FALSE(own.ended);
  CHECK(own.run_time.valid());
}

TEST_CASE("thread_list: another thread under the number of one that has ended is listed anew") {
  auto list = ThreadList::open(Pid{::getpid()}, false, std::chrono::milliseconds(10));
  REQUIRE(list);
  ListedThread& own = list->threads().at(::getpid());
  if (!own.run_time.valid()) skip_test("this kernel has no schedstat");
  // The number now seems to have belonged to another thread, which has ended: the open file is of
  // that thread.
  std::thread([&] {
    const std::string path =
        "/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/schedstat";
    own.run_time.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }).join();
  char byte = 0;
  while (::pread(own.run_time.get(), &byte, 1, 0) == 1) ::sched_yield();
  own.comm = "the first";
  CHECK_FALSE(list->runs_and_is_due(own));
  CHECK(own.ended);
  REQUIRE(list->refresh());
  CHECK_FALSE(own.ended);
  CHECK(own.comm.empty());
  CHECK(::pread(own.run_time.get(), &byte, 1, 0) == 1);
}

TEST_CASE("thread_list: a first thread that is a zombie has ended for good") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(0);
  siginfo_t seen{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &seen, WEXITED | WNOWAIT) == 0);
  auto list = ThreadList::open(Pid{child}, false, std::chrono::milliseconds(10));
  REQUIRE(list);
  list->threads().at(child).ended = true;
  CHECK(list->refresh());
  CHECK(list->threads().at(child).ended);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(list->refresh());
}

}  // namespace labelscope::test
