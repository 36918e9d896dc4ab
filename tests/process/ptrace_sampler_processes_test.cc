// Tests what processes do while the ptrace sampler runs: exec, first threads that end, children.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "process/ptrace_sampling.h"

namespace labelscope::test {
namespace {

std::string name_of(Pid pid) {
  std::ifstream file("/proc/" + std::to_string(raw(pid)) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// A process with one child, which ends and then exists again under the same number.
class Reborn {
 public:
  Reborn() {
    REQUIRE(::pipe2(orders_.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(answers_.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) run();
    REQUIRE(answer());
  }
  Reborn(const Reborn&) = delete;
  Reborn& operator=(const Reborn&) = delete;
  ~Reborn() {
    for (int fd : {orders_[1], orders_[0]}) ::close(fd);  // it ends, after its child
    ::waitpid(pid_, nullptr, 0);
    for (int fd : answers_) ::close(fd);
  }
  Pid pid() const { return Pid{pid_}; }
  bool end_child() const { return ask(); }
  bool start_child_again() const { return ask(); }

 private:
  static pid_t start(pid_t number) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    if (number != 0) {
      arguments.set_tid = reinterpret_cast<std::uint64_t>(&number);
      arguments.set_tid_size = 1;
    }
    const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid != 0) return static_cast<pid_t>(pid);
    for (;;) ::pause();
  }
  static void end(pid_t child) {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  [[noreturn]] void run() const {
    ::close(orders_[1]);
    pid_t child = start(0);
    const pid_t number = child;
    char well = child > 0 ? 'y' : 'n';
    for (char order = 0;
         ::write(answers_[1], &well, 1) == 1 && ::read(orders_[0], &order, 1) == 1;) {
      if (child > 0) {
        end(std::exchange(child, 0));
      } else {
        child = start(number);
        well = child > 0 ? 'y' : 'n';
      }
    }
    end(child);
    ::_exit(0);
  }
  bool answer() const {
    char well = 'n';
    return ::read(answers_[0], &well, 1) == 1 && well == 'y';
  }
  bool ask() const { return ::write(orders_[1], "x", 1) == 1 && answer(); }

  std::array<int, 2> orders_{};
  std::array<int, 2> answers_{};
  pid_t pid_ = 0;
};

// A process of two threads. At the first command the first thread ends; at the second, the other
// thread maps the program /bin/true.
class TwoThreads {
 public:
  TwoThreads() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) run(ends[0]);
    in_.reset(ends[0]);
    out_.reset(ends[1]);
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
  ~TwoThreads() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }
  void tell() const { REQUIRE(::write(out_.get(), "!", 1) == 1); }
  bool first_has_ended() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && text.compare(name_end + 2, 1, "Z") == 0;
  }

 private:
  [[noreturn]] static void run(int in) {
    const auto wait_for_word = [in] {
      char word = 0;
      while (::read(in, &word, 1) < 0) continue;
    };
    static std::atomic<bool> told_first{false};
    std::thread([wait_for_word] {
      while (!told_first) ::usleep(1000);
      wait_for_word();
      const int file = ::open("/bin/true", O_RDONLY | O_CLOEXEC);
      static_cast<void>(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
      for (;;) ::pause();
    }).detach();
    wait_for_word();
    told_first = true;
    for (;;) ::syscall(SYS_exit, 0);  // of this thread only; pthread_exit() would unwind the test
  }

  pid_t pid_ = -1;
  UniqueFd in_;
  UniqueFd out_;
};

}  // namespace

TEST_CASE("ptrace_sampler: an exec is noticed before labels are read") {
  auto target = spawn_shell("echo ready; read word; exec sleep 1000");
  REQUIRE(target);
  const Pid pid = target->pid();
  Handler handler;
  auto sampler = open_wall_sampler();
  REQUIRE(sampler->set_process(pid, {}));
  REQUIRE(sampler->start());
  drain_until(*sampler, handler, [&] { return handler.samples.size() >= 3; });
  CHECK(handler.execs.empty());
  const std::size_t before = handler.samples.size();
  REQUIRE(target->send("go"));
  const auto deadline = std::chrono::steady_clock::now() + seconds(40);
  while (name_of(pid) != "sleep" && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
  REQUIRE(name_of(pid) == "sleep");

  // Recipes that were planned for the old program must not be taken for the new one.
  const Status late = sampler->set_process(pid, {});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kVanished);
  drain_until(*sampler, handler, [&] { return handler.samples.size() >= before + 3; });
  CHECK(handler.execs == std::vector<Pid>{pid});
  for (std::size_t i = before; i < handler.samples.size(); ++i) {
    CHECK(handler.samples[i].outcome == LS_UNREADABLE_NOT_RELOCATED);
  }
  REQUIRE(sampler->set_process(pid, {}));
  const std::size_t planned = handler.samples.size();
  // This waits for the new program's own stack, after its loader is done.
  drain_until(*sampler, handler, [&] {
    return handler.samples.size() > planned && handler.samples.back().frames > 2;
  });
  CHECK(handler.samples.back().outcome == LS_UNLABELLED);
  stop_and_balance(*sampler, handler);
}

TEST_CASE("ptrace_sampler: a process is sampled on when its first thread has ended") {
  const TwoThreads target;
  Handler handler;
  auto sampler = open_wall_sampler();
  const auto end_first = [&] {
    target.tell();
    const auto deadline = std::chrono::steady_clock::now() + seconds(40);
    while (!target.first_has_ended() && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
    REQUIRE(target.first_has_ended());
  };
  SECTION("before it is sampled") {
    end_first();
    REQUIRE(sampler->set_process(target.pid(), {}));
    REQUIRE(sampler->start());
  }
  SECTION("while it is sampled") {
    REQUIRE(sampler->set_process(target.pid(), {}));
    REQUIRE(sampler->start());
    drain_until(*sampler, handler, [&] { return handler.samples.size() >= 6; });
    end_first();
    REQUIRE(sampler->set_process(target.pid(), {}));
  }
  const std::size_t before = handler.samples.size();
  drain_until(*sampler, handler, [&] { return handler.samples.size() >= before + 20; });
  for (std::size_t i = before; i < handler.samples.size(); ++i) {
    CHECK(handler.samples[i].outcome == LS_UNLABELLED);
    CHECK(handler.samples[i].frames > 2);
    CHECK(raw(handler.samples[i].tid) != raw(target.pid()));
  }
  const auto maps_program = [&] {
    return std::count_if(handler.mappings.begin(), handler.mappings.end(),
                         [](const std::string& path) { return path.ends_with("bin/true"); });
  };
  CHECK(maps_program() == 0);
  target.tell();
  drain_until(*sampler, handler, [&] { return maps_program() == 1; });
  CHECK(handler.execs.empty());
  CHECK(handler.exits.empty());
  stop_and_balance(*sampler, handler);
}

TEST_CASE("ptrace_sampler: children are found, sampled with their parent's recipes, and end") {
  auto parent = spawn_shell("echo ready; read word; sleep 1000 & wait; read word");
  REQUIRE(parent);
  Handler handler;
  auto sampler = open_wall_sampler();
  REQUIRE(sampler->set_process(parent->pid(), {&kNoLabels, 1}));
  REQUIRE(sampler->start());
  drain_until(*sampler, handler, [&] { return !handler.samples.empty(); });
  REQUIRE(parent->send("go"));
  drain_until(*sampler, handler, [&] { return !handler.forks.empty(); });
  CHECK(handler.forks.front().first == parent->pid());
  const Pid child = handler.forks.front().second;
  const auto of_child = [&](const Kept& sample) { return sample.pid == child; };
  // The child executes sleep soon, if it has not already.
  drain_until(*sampler, handler,
              [&] { return handler.count(of_child) >= 3 && !handler.execs.empty(); });
  CHECK(handler.execs == std::vector<Pid>{child});
  REQUIRE(::kill(raw(child), SIGKILL) == 0);
  drain_until(*sampler, handler, [&] { return !handler.exits.empty(); });
  CHECK(handler.exits.front() == child);

  REQUIRE(sampler->remove_process(parent->pid()));
  const std::size_t before = handler.samples.size();
  REQUIRE(sampler->drain(handler, milliseconds(100)));
  CHECK(handler.samples.size() == before);
  stop_and_balance(*sampler, handler);
}

// A stop of such a child reads some of its old program, and some of the new one.
TEST_CASE("ptrace_sampler: children that execute programs all the time are followed") {
  constexpr std::size_t kChildren = 8;
  auto parent = spawn_shell(R"(
      export PARENT=$$ LOOP='[ $PPID = $PARENT ] && exec /bin/sh -c "$LOOP"'
      echo ready; read word
      for i in 1 2 3 4 5 6 7 8; do /bin/sh -c "$LOOP" & done; wait)");
  REQUIRE(parent);
  Handler handler;
  auto sampler = open_wall_sampler();
  REQUIRE(sampler->set_process(parent->pid(), {&kNoLabels, 1}));
  REQUIRE(sampler->start());
  REQUIRE(parent->send("go"));
  drain_until(*sampler, handler, [&] {
    return handler.forks.size() + other(*sampler, Counter::kChildrenRefused) >= kChildren;
  });
  CHECK(handler.forks.size() == kChildren);
  CHECK(other(*sampler, Counter::kChildrenRefused) == 0);
  stop_and_balance(*sampler, handler);
}

TEST_CASE("ptrace_sampler: children beyond the bound are counted, and so are those not wanted") {
  auto target = spawn_shell("sleep 1000 & echo ready; read word; kill $!");
  REQUIRE(target);
  PtraceSamplerOptions options;
  SECTION("one process only") {
    options.max_processes = 1;
    Handler handler;
    auto sampler = open_wall_sampler(options);
    REQUIRE(sampler->set_process(target->pid(), {}));
    REQUIRE(sampler->start());
    drain_until(*sampler, handler,
                [&] { return other(*sampler, Counter::kChildrenNotFollowed) > 0; });
    CHECK(handler.forks.empty());
    const Status one_more = sampler->set_process(Pid{::getpid()}, {});
    REQUIRE_FALSE(one_more);
    CHECK(one_more.error().code == ErrorCode::kLimit);
    stop_and_balance(*sampler, handler);
    CHECK(other(*sampler, Counter::kChildrenNotFollowed) == 1);
  }
  SECTION("no children") {
    options.follow_children = false;
    Handler handler;
    auto sampler = open_wall_sampler(options);
    REQUIRE(sampler->set_process(target->pid(), {}));
    REQUIRE(sampler->start());
    drain_until(*sampler, handler, [&] { return other(*sampler, Counter::kTicks) > 30; });
    CHECK(handler.forks.empty());
    stop_and_balance(*sampler, handler);
  }
  REQUIRE(target->send("end"));
}

TEST_CASE("ptrace_sampler: a child under the number of one that was counted is counted as well") {
  Reborn family;
  PtraceSamplerOptions options;
  options.max_processes = 1;
  Handler handler;
  auto sampler = open_wall_sampler(options);
  REQUIRE(sampler->set_process(family.pid(), {}));
  REQUIRE(sampler->start());
  drain_until(*sampler, handler,
              [&] { return other(*sampler, Counter::kChildrenNotFollowed) == 1; });
  REQUIRE(family.end_child());
  // This is long enough for the sampler to look at the child, which it does at a tick 100 ms after
  // the last time.
  for (int i = 0; i < 4; ++i) REQUIRE(sampler->drain(handler, milliseconds(60)));
  if (!family.start_child_again()) {
    skip_test("choosing a process's number needs CAP_CHECKPOINT_RESTORE");
  }
  drain_until(*sampler, handler,
              [&] { return other(*sampler, Counter::kChildrenNotFollowed) == 2; });
  stop_and_balance(*sampler, handler);
}

}  // namespace labelscope::test
