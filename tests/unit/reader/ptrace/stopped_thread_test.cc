// Tests a thread of a child that is held still: it counts in shared memory, and reports its own
// thread pointer.
#include "labelscope/stopped_thread.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <new>
#include <string>

#include "labelscope/memory.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

struct Shared {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> signals{0};
  std::atomic<Address> thread_pointer{0};
};

Shared* shared() {
  static Shared* page = [] {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Shared;
  }();
  REQUIRE(page != nullptr);
  return page;
}

Address own_thread_pointer() {
  Address pointer = 0;
#if defined(__x86_64__)
  asm("mov %%fs:0, %0" : "=r"(pointer));
#else
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
  return pointer;
}

void count_signal(int) { ++shared()->signals; }

// A child that runs `body`, then counts until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& body = [] {}) {
    skip_in_user_mode_emulation();
    Shared* page = shared();
    page->signals = 0;
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      std::signal(SIGUSR1, count_signal);
      page->thread_pointer = own_thread_pointer();
      body();
      for (;;) ++page->count;
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Tid tid() const { return Tid{pid_}; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

void wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    ::sched_yield();
  }
}
void wait_for_progress() {
  const std::uint64_t before = shared()->count;
  wait_until([&] { return shared()->count > before; });
}

StoppedThread require_stopped(Tid tid) {
  test::skip_without_ptrace();
  auto stopped = StoppedThread::stop(tid);
  if (!stopped) FAIL(stopped.error().context);
  return *std::move(stopped);
}

// Returns the state's letter in /proc/PID/status: T if job control stopped it, t if a tracer did.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("State:\t", 0) == 0) return line[7];
  }
  return '?';
}

}  // namespace

TEST_CASE("stopped_thread: a stopped thread stands still, and runs on afterwards") {
  const Child child;
  wait_for_progress();
  {
    const StoppedThread stopped = require_stopped(child.tid());
    const std::uint64_t count = shared()->count;
    // In this time, which is spent in a loop, a running counter would be far ahead.
    while (stopped.held() < std::chrono::milliseconds(20)) {
    }
    CHECK(shared()->count == count);
    CHECK(state_of(child.pid()) == 't');
  }
  wait_for_progress();
}

TEST_CASE("stopped_thread: the thread pointer is the thread's own") {
  const Child child;
  wait_for_progress();
  const StoppedThread stopped = require_stopped(child.tid());
  auto pointer = stopped.thread_pointer();
  REQUIRE(pointer);
  CHECK(*pointer == shared()->thread_pointer.load());
}

TEST_CASE("stopped_thread: its memory can be read meanwhile") {
  const Child child;
  wait_for_progress();
  const StoppedThread stopped = require_stopped(child.tid());
  auto memory = open_process_memory(Pid{child.pid()});
  auto count = read_value<std::uint64_t>(*memory, reinterpret_cast<Address>(&shared()->count));
  REQUIRE(count);
  CHECK(*count == shared()->count);
}

TEST_CASE("stopped_thread: the object that was moved from lets nothing go") {
  const Child child;
  wait_for_progress();
  StoppedThread stopped = require_stopped(child.tid());
  {
    const StoppedThread owner = std::move(stopped);
    CHECK(owner.thread_pointer());
    CHECK(state_of(child.pid()) == 't');
  }
  wait_for_progress();
}

TEST_CASE(
    "stopped_thread: a signal that arrives while it is stopped is delivered afterwards, once") {
  const Child child;
  wait_for_progress();
  {
    const StoppedThread stopped = require_stopped(child.tid());
    REQUIRE(::kill(child.pid(), SIGUSR1) == 0);
    CHECK(shared()->signals == 0);
  }
  wait_until([] { return shared()->signals > 0; });
  wait_for_progress();
  CHECK(shared()->signals == 1);
}

TEST_CASE("stopped_thread: no signal is lost or doubled while it is stopped again and again") {
  const Child child;
  wait_for_progress();
  for (std::uint64_t i = 1; i <= 300; ++i) {
    REQUIRE(::kill(child.pid(), SIGUSR1) == 0);
    { const StoppedThread stopped = require_stopped(child.tid()); }
    wait_until([&] { return shared()->signals >= i; });
    REQUIRE(shared()->signals == i);
  }
}

TEST_CASE("stopped_thread: a job-control stop stays what it was") {
  const Child child;
  wait_for_progress();
  REQUIRE(::kill(child.pid(), SIGSTOP) == 0);
  wait_until([&] { return state_of(child.pid()) == 'T'; });
  {
    const StoppedThread stopped = require_stopped(child.tid());
    CHECK(stopped.thread_pointer());
  }
  wait_until([&] { return state_of(child.pid()) == 'T'; });
  REQUIRE(::kill(child.pid(), SIGCONT) == 0);
  wait_for_progress();
}

TEST_CASE("stopped_thread: a thread that does not exist has vanished") {
  pid_t gone = 0;
  {
    const Child child;
    gone = child.pid();
  }
  const auto stopped = StoppedThread::stop(Tid{gone});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kVanished);
}

TEST_CASE("stopped_thread: a thread that has ended and waits for its parent has vanished too") {
  const Child child([] { ::_exit(0); });
  wait_until([&] { return state_of(child.pid()) == 'Z'; });
  const auto stopped = StoppedThread::stop(child.tid());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kVanished);
}

TEST_CASE(
    "stopped_thread: a thread that another process traces is refused, with the tracer's name") {
  const Child child([] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); });
  wait_for_progress();
  const auto stopped = StoppedThread::stop(child.tid());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kPermission);
  INFO(stopped.error().context);
  CHECK(stopped.error().context.find("labelscope traces it already") != std::string::npos);
}

TEST_CASE("stopped_thread: a handler of SIGCHLD that collects every answer takes no stop away") {
  const Child child;
  wait_for_progress();
  struct sigaction collect {};
  struct sigaction before {};
  collect.sa_handler = [](int) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  };
  collect.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGCHLD, &collect, &before) == 0);
  for (int i = 0; i < 100; ++i) {
    auto stopped = StoppedThread::stop(child.tid());
    INFO("round " << i << ": " << (stopped ? "stopped" : stopped.error().context));
    CHECK(stopped);
    if (!stopped) break;
  }
  CHECK(StoppedThread::settle() == 0);
  REQUIRE(::sigaction(SIGCHLD, &before, nullptr) == 0);
  wait_for_progress();
}

TEST_CASE("stopped_thread: the exit status of our own child is never swallowed") {
  skip_in_user_mode_emulation();
  for (int i = 0; i < 400; ++i) {
    // The child ends at a different moment of the attach in each round.
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      for (std::atomic<int> spin{0}; spin < i * 100; ++spin) {
      }
      ::_exit(42);
    }
    { const auto stopped = StoppedThread::stop(Tid{pid}); }
    int status = 0;
    INFO("round " << i);
    do {
      // On a busy machine the child may stop after the deadline, and waitpid() then reports the
      // stop.
      StoppedThread::settle();
      REQUIRE(::waitpid(pid, &status, 0) == pid);
    } while (WIFSTOPPED(status));
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 42);
  }
}

}  // namespace labelscope::test
