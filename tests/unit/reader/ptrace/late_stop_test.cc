// Tests threads that do not stop in time, or that end, are killed or execute another program while
// they are stopped. None of them may stay stopped, or be lost to the parent that waits for it.
#include <poll.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "support/catch.h"
#include "support/vfork.h"

namespace labelscope::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string status_line(pid_t tid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":\t", 0) == 0) return line.substr(name.size() + 2);
  }
  return {};
}
char state_of(pid_t tid) {
  const std::string state = status_line(tid, "State");
  return state.empty() ? '?' : state.front();
}
bool is_traced(pid_t tid) { return status_line(tid, "TracerPid") != "0"; }

void wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (!condition()) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// A process that runs `body` and then ends. The destructor kills it if it still runs.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    skip_in_user_mode_emulation();
    REQUIRE(::pipe(pipe_.data()) == 0);
    REQUIRE(::pipe(go_.data()) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      tell_fd_ = pipe_[1];
      go_fd_ = go_[0];
      body();
      ::_exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    if (!waited_) ::waitpid(pid_, nullptr, 0);
    for (int fd : pipe_) ::close(fd);
    for (int fd : go_) ::close(fd);
  }
  pid_t pid() const { return pid_; }
  // Receives a number that the child sent.
  pid_t hear() const {
    pid_t number = 0;
    REQUIRE(::read(pipe_[0], &number, sizeof number) == sizeof number);
    return number;
  }
  bool has_told() const {
    pollfd told{pipe_[0], POLLIN, 0};
    return ::poll(&told, 1, 0) > 0;
  }
  int wait_status() {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    waited_ = true;
    return status;
  }
  void release() const { REQUIRE(::write(go_[1], "x", 1) == 1); }
  // The child calls this.
  static void wait_for_release() {
    char byte = 0;
    if (::read(go_fd_, &byte, 1) != 1) ::_exit(95);
  }
  static void tell(pid_t number) {
    if (::write(tell_fd_, &number, sizeof number) != sizeof number) ::_exit(99);
  }

 private:
  static inline int tell_fd_ = -1;
  static inline int go_fd_ = -1;
  std::array<int, 2> pipe_{};
  std::array<int, 2> go_{};
  pid_t pid_ = 0;
  bool waited_ = false;
};

[[noreturn]] void spin() {
  for (std::atomic<std::uint64_t> count{0};;) ++count;
}

void* spin_in_thread(void*) {
  Child::tell(static_cast<pid_t>(::syscall(SYS_gettid)));
  spin();
}

void start_thread(void* (*body)(void*)) {
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, body, nullptr) != 0) ::_exit(98);
}

// Seizes the thread without giving it time to stop, until an attempt times out. (A quick thread
// stops all the same.)
void give_up_on(pid_t tid) {
  wait_until([&] {
    auto stopped = StoppedThread::stop(Tid{tid}, seconds(0));
    if (!stopped) REQUIRE(stopped.error().code == ErrorCode::kLimit);
    return !stopped;
  });
}

// Reads the CPU time in clock ticks, which grows while the thread runs.
std::uint64_t ticks_of(pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(file, text);
  text = text.substr(text.rfind(')') + 2);
  for (int i = 0; i < 11; ++i) text = text.substr(text.find(' ') + 1);
  return std::strtoull(text.c_str(), nullptr, 10);
}
void require_running(pid_t tid) {
  const std::uint64_t before = ticks_of(tid);
  wait_until([&] { return ticks_of(tid) > before + 1; });
  CHECK_FALSE(is_traced(tid));
}

}  // namespace

TEST_CASE("late_stop: a thread that stops after its deadline is let go by settle()") {
  const Child child(spin);
  wait_until([&] { return ticks_of(child.pid()) > 0; });
  for (int i = 0; i < 50; ++i) {
    give_up_on(child.pid());
    wait_until([] { return StoppedThread::settle() == 0; });
    CHECK_FALSE(is_traced(child.pid()));
    CHECK(StoppedThread::take_longest_late_stop().count() > 0);
    CHECK(StoppedThread::take_longest_late_stop().count() == 0);
  }
  require_running(child.pid());
}

TEST_CASE("late_stop: a thread that stops after its deadline is let go by the next stop") {
  const Child late(spin);
  const Child other(spin);
  give_up_on(late.pid());
  wait_until([&] { return state_of(late.pid()) == 't'; });
  const auto seen = std::chrono::steady_clock::now();
  const auto held = [&] { return std::chrono::steady_clock::now() - seen; };
  const auto held_at_least = held();
  { auto stopped = StoppedThread::stop(Tid{other.pid()}); }
  CHECK(StoppedThread::take_longest_late_stop() >= held_at_least);
  require_running(late.pid());
}

TEST_CASE("late_stop: of many threads that stop late each is reported, and can be read then") {
  const std::array<Child, 3> children{Child(spin), Child(spin), Child(spin)};
  CHECK_FALSE(StoppedThread::late_stop());
  for (const Child& child : children) give_up_on(child.pid());
  std::set<pid_t> told;
  wait_until([&] {
    const auto tid = StoppedThread::late_stop();
    if (!tid) return false;
    auto stopped = StoppedThread::stop(*tid, seconds(0));
    REQUIRE(stopped);
    CHECK(stopped->thread_pointer());
    CHECK(told.insert(raw(*tid)).second);
    return told.size() == children.size();
  });
  CHECK_FALSE(StoppedThread::late_stop());
  CHECK(StoppedThread::settle() == 0);
  for (const Child& child : children) require_running(child.pid());
}

TEST_CASE("late_stop: a thread that stops late is not held while another is waited for") {
  skip_without_vfork();
  const Child late(spin);
  const Child child([] {
    if (::vfork() == 0) {
      Child::tell(static_cast<pid_t>(::syscall(SYS_getpid)));
      for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
    }
    for (;;) ::pause();
  });
  const pid_t borrower = child.hear();
  wait_until([&] { return state_of(child.pid()) == 'D'; });
  std::atomic<bool> waits{false};
  std::atomic<bool> done{false};
  std::thread tracer([&] {
    give_up_on(late.pid());
    waits = true;
    static_cast<void>(StoppedThread::stop(Tid{child.pid()}, seconds(30)));
    done = true;
  });
  wait_until([&] { return waits && !is_traced(late.pid()); });
  CHECK_FALSE(done);
  ::kill(borrower, SIGKILL);
  tracer.join();
}

TEST_CASE("late_stop: a thread that was given up can be stopped again") {
  const Child child(spin);
  give_up_on(child.pid());
  {
    auto stopped = StoppedThread::stop(Tid{child.pid()}, seconds(20));
    REQUIRE(stopped);
    CHECK(stopped->thread_pointer());
    CHECK(state_of(child.pid()) == 't');
  }
  CHECK(StoppedThread::settle() == 0);
  require_running(child.pid());
}

TEST_CASE("late_stop: the end of the tracing thread lets go of what has not stopped yet") {
  const Child child(spin);
  for (int i = 0; i < 50; ++i) {
    std::thread([&] { give_up_on(child.pid()); }).join();
    wait_until([&] { return !is_traced(child.pid()); });
  }
  require_running(child.pid());
}

TEST_CASE("late_stop: the parent of a vfork is not seized, and said to wait") {
  skip_without_vfork();
  const Child child([] {
    if (::vfork() == 0) {
      Child::tell(static_cast<pid_t>(::syscall(SYS_getpid)));
      for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
    }
  });
  const pid_t borrower = child.hear();
  wait_until([&] { return state_of(child.pid()) == 'D'; });
  const auto stopped = StoppedThread::stop(Tid{child.pid()}, milliseconds(20));
  ::kill(borrower, SIGKILL);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kLimit);
  INFO(stopped.error().context);
  CHECK(stopped.error().context.find("vfork") != std::string::npos);
  CHECK(StoppedThread::settle() == 0);
}

TEST_CASE("late_stop: a process whose first thread has ended is read through the others") {
  static std::atomic<std::uint64_t> in_child{0};
  const Child child([] {
    in_child = 0x5ca1ab1e;
    start_thread(spin_in_thread);
    ::syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
  });
  const pid_t thread = child.hear();
  wait_until([&] { return state_of(child.pid()) == 'Z'; });
  auto first = StoppedThread::stop(Tid{child.pid()});
  REQUIRE_FALSE(first);
  CHECK(first.error().code == ErrorCode::kVanished);

  auto process = LiveProcess::open(Pid{child.pid()});
  REQUIRE(process);
#if !defined(__SANITIZE_THREAD__)  // which has threads of its own in each process
  CHECK((*process)->threads()->size() == 2);
#endif
  auto mappings = (*process)->mappings();
  REQUIRE(mappings);
  const auto address = reinterpret_cast<Address>(&in_child);
  const Mapping* own = find_mapping(*mappings, address);
  REQUIRE(own != nullptr);
  CHECK((*process)->program_headers_address());
  auto stopped = StoppedThread::stop(Tid{thread});
  REQUIRE(stopped);
  auto value = read_value<std::uint64_t>((*process)->memory(), address);
  REQUIRE(value);
  CHECK(*value == 0x5ca1ab1e);
}

TEST_CASE("late_stop: a process whose first thread ends after it was opened is still seen") {
  static std::atomic<std::uint64_t> in_child{0};
  const Child child([] {
    in_child = 0x5ca1ab1e;
    start_thread(spin_in_thread);
    Child::wait_for_release();
    ::syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
  });
  child.hear();
  auto opened = LiveProcess::open(Pid{child.pid()});
  REQUIRE(opened);
  const LiveProcess& process = **opened;
  CHECK(raw(process.seen_through()) == child.pid());
  child.release();
  wait_until([&] { return state_of(child.pid()) == 'Z'; });

  const auto read = [&] {
    auto value = read_value<std::uint64_t>(process.memory(), reinterpret_cast<Address>(&in_child));
    CHECK(value);
    return value ? *value : 0;
  };
  SECTION("its memory") { CHECK(read() == 0x5ca1ab1e); }
  SECTION("its program") { CHECK_FALSE(process.has_replaced_program()); }
  SECTION("its mappings") {
    auto mappings = process.mappings();
    REQUIRE(mappings);
    CHECK(find_mapping(*mappings, reinterpret_cast<Address>(&in_child)) != nullptr);
  }
  CHECK(read() == 0x5ca1ab1e);
  CHECK(raw(process.seen_through()) != child.pid());
}

TEST_CASE("late_stop: a first thread that ends while it is stopped does not block the others") {
  for (int i = 0; i < 30; ++i) {
    Child child([] {
      start_thread([](void*) -> void* {
        ::usleep(20'000);
        ::_exit(42);
      });
      ::syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
    });
    while (auto stopped = StoppedThread::stop(Tid{child.pid()})) {
    }
    const int status = child.wait_status();
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 42);
    StoppedThread::settle();
  }
}

TEST_CASE("late_stop: a thread that executes another program meanwhile is let go there") {
  for (int i = 0; i < 40; ++i) {
    const Child child([] {
      start_thread([](void*) -> void* {
        Child::tell(static_cast<pid_t>(::syscall(SYS_gettid)));
        Child::wait_for_release();
        for (std::atomic<int> count{0}; count < 200'000; ++count) {
        }
        ::execl("/bin/sleep", "sleep", "100", nullptr);
        ::_exit(97);
      });
      for (;;) ::pause();
    });
    const pid_t thread = child.hear();
    auto process = LiveProcess::open(Pid{child.pid()});
    REQUIRE(process);
    CHECK_FALSE((*process)->has_replaced_program());
    child.release();
    for (bool there = true; there;) {
      auto stopped = StoppedThread::stop(Tid{thread});
      there = stopped.has_value();
    }
    INFO("round " << i);
    wait_until([&] { return status_line(child.pid(), "Name") == "sleep"; });
    wait_until([] { return StoppedThread::settle() == 0; });
    wait_until([&] { return state_of(child.pid()) == 'S'; });
    CHECK_FALSE(is_traced(child.pid()));
    CHECK((*process)->has_replaced_program());
  }
}

TEST_CASE("late_stop: the parent of a process that is killed while stopped hears of it") {
  Child child([] {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) spin();
    Child::tell(grandchild);
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    ::_exit(WIFSIGNALED(status) ? WTERMSIG(status) : 96);
  });
  const pid_t grandchild = child.hear();
  {
    auto stopped = StoppedThread::stop(Tid{grandchild});
    REQUIRE(stopped);
    ::kill(grandchild, SIGKILL);
  }
  const int status = child.wait_status();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == SIGKILL);
  CHECK(StoppedThread::settle() == 0);
}

TEST_CASE("late_stop: a signal that stopped a thread late is its own, and arrives") {
  const Child child([] {
    ::signal(SIGUSR1, [](int number) { Child::tell(number); });
    spin();
  });
  wait_until([&] { return ticks_of(child.pid()) > 0; });
  give_up_on(child.pid());
  wait_until([&] { return state_of(child.pid()) == 't'; });
  // The thread is like one that an interrupt did not reach because it executed another program: it
  // runs on until it gets a signal.
  REQUIRE(::ptrace(PTRACE_CONT, child.pid(), nullptr, nullptr) == 0);
  ::kill(child.pid(), SIGUSR1);
  wait_until([&] { return state_of(child.pid()) == 't'; });
  wait_until([] { return StoppedThread::settle() == 0; });
  wait_until([&] { return child.has_told(); });
  CHECK(child.hear() == SIGUSR1);
  require_running(child.pid());
}

}  // namespace labelscope::test
