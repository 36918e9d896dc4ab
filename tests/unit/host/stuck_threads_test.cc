// Threads of this very test wait in calls, some of them for ever.
#include "cli/host/stuck_threads.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "cli/host/replaceable_thread.h"
#include "support/catch.h"

using namespace labelscope::cli;
using namespace std::chrono_literals;

namespace {

// An end that is written to, and one that is read.
struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int reader() const { return ends[0]; }
  void supply() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
  int ends[2] = {-1, -1};
};

pid_t own_tid() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// Looks until this thread is found stuck, for a minute at most.
std::optional<StuckCall> wait_until_stuck(StuckThreads& threads, const std::atomic<pid_t>& tid) {
  for (int i = 0; i < 1200; ++i) {
    for (StuckCall& call : threads.look(50ms)) {
      if (call.tid == tid) return std::move(call);
    }
    std::this_thread::sleep_for(50ms);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("stuck_threads: a thread that waits in a read is found once, with what it reads") {
  const Pipe pipe;
  std::atomic<pid_t> tid = 0;
  std::thread waits([&] {
    tid = own_tid();
    char byte = 0;
    static_cast<void>(::read(pipe.reader(), &byte, 1));
  });
  StuckThreads threads(200ms);
  const auto call = wait_until_stuck(threads, tid);
  REQUIRE(call);
  CHECK_THAT(call->what, Catch::Matchers::Contains("reading pipe:["));
  CHECK(call->waited > 200ms);
  CHECK(call->returns_to != 0);
  CHECK(call->is_going_on());
  const auto is_it = [&](const StuckCall& each) { return each.tid == tid; };
  CHECK(std::ranges::none_of(threads.look(1ms), is_it));
  // It is found again when it has waited for as long once more.
  CHECK(std::ranges::any_of(threads.look(10s), is_it));
  pipe.supply();
  waits.join();
  CHECK_FALSE(call->is_going_on());
}

TEST_CASE("stuck_threads: opening what nobody opens at the other end is named by its path") {
  const std::string path = "/tmp/labelscope-stuck-" + std::to_string(::getpid());
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::atomic<pid_t> tid = 0;
  std::thread waits([&] {
    tid = own_tid();
    ::close(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  });
  StuckThreads threads(200ms);
  const auto call = wait_until_stuck(threads, tid);
  REQUIRE(call);
  CHECK(call->what == "opening " + path);
  ::close(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  waits.join();
  ::unlink(path.c_str());
}

TEST_CASE("stuck_threads: waiting on purpose, and reading slowly, is not being stuck") {
  const Pipe pipe;
  std::atomic<bool> over = false;
  std::atomic<pid_t> polls = 0;
  std::atomic<pid_t> reads = 0;
  std::thread polling([&] {
    polls = own_tid();
    pollfd one{pipe.reader(), POLLIN, 0};
    while (!over) ::poll(&one, 1, 100);
  });
  const Pipe slow;
  std::thread reading([&] {
    reads = own_tid();
    char byte = 0;
    while (!over) static_cast<void>(::read(slow.reader(), &byte, 1));
  });
  StuckThreads threads(500ms);
  for (int i = 0; i < 40; ++i) {
    slow.supply();
    for (const StuckCall& call : threads.look(50ms)) {
      CHECK(call.tid != polls);
      CHECK(call.tid != reads);
    }
    std::this_thread::sleep_for(20ms);
  }
  over = true;
  slow.supply();
  polling.join();
  reading.join();
}

TEST_CASE("replaceable_thread: another thread goes on, and the first does nothing more") {
  // What a thread that is left behind uses must stay.
  static const Pipe pipe;
  static std::atomic<int> calls = 0;
  static std::atomic<int> came_back = 0;
  static std::atomic<pid_t> first = 0;
  ReplaceableThread thread;
  auto status = std::async(std::launch::async, [&] {
    return thread.run([] {
      if (calls++ != 0) return 7;
      first = own_tid();
      char byte = 0;
      static_cast<void>(::read(pipe.reader(), &byte, 1));
      ++came_back;
      return 1;
    });
  });
  StuckThreads threads(200ms);
  while (first == 0) std::this_thread::sleep_for(1ms);
  const auto call = wait_until_stuck(threads, first);
  REQUIRE(call);
  CHECK(thread.is(first));
  REQUIRE(thread.leave_behind(*call));
  thread.replace();
  REQUIRE(status.get() == 7);
  CHECK(thread.left_behind() == 1);
  pipe.supply();
  std::this_thread::sleep_for(300ms);
  CHECK(came_back == 0);
  CHECK(calls == 2);
}

TEST_CASE("replaceable_thread: one that has come back meanwhile goes on itself") {
  const Pipe pipe;
  std::atomic<pid_t> first = 0;
  std::atomic<bool> over = false;
  ReplaceableThread thread;
  auto status = std::async(std::launch::async, [&] {
    return thread.run([&] {
      first = own_tid();
      char byte = 0;
      static_cast<void>(::read(pipe.reader(), &byte, 1));
      while (!over) {
      }
      return 3;
    });
  });
  StuckThreads threads(200ms);
  while (first == 0) std::this_thread::sleep_for(1ms);
  const auto call = wait_until_stuck(threads, first);
  REQUIRE(call);
  pipe.supply();
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(thread.leave_behind(*call));
  over = true;
  CHECK(status.get() == 3);
  CHECK(thread.left_behind() == 0);
}
