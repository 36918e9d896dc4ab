// Tests the ptrace sampler on live processes: what it samples, and that its numbers add up.
#include "sampling/ptrace_sampler.h"

#include <dlfcn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "labelscope/target.h"
#include "labelscope/unique_fd.h"
#include "process/ptrace_sampling.h"

namespace labelscope::test {
namespace {

// Returns the kernel's own count of the first thread's time on a processor.
std::chrono::nanoseconds run_time_of(Pid pid) {
  std::ifstream file("/proc/" + std::to_string(raw(pid)) + "/schedstat");
  std::int64_t ran = 0;
  file >> ran;
  return std::chrono::nanoseconds(ran);
}

// Works for a moment and sleeps for longer, again and again.
class Napper {
 public:
  Napper() : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    for (;;) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
      while (std::chrono::steady_clock::now() < end) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Napper(const Napper&) = delete;
  Napper& operator=(const Napper&) = delete;
  ~Napper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  pid_t pid_;
};

// A fork has its libc at the same address as this process.
bool is_in_sleep(Address pc) {
  Dl_info found{};
  return ::dladdr(reinterpret_cast<void*>(pc), &found) != 0 &&  // NOLINT: a place in the child
         found.dli_sname != nullptr && std::string_view(found.dli_sname).ends_with("nanosleep");
}

}  // namespace

TEST_CASE("ptrace_sampler: wall mode samples every thread at every tick, and adds up") {
  auto target = spawn_shell("echo ready; read word");
  REQUIRE(target);
  Handler handler;
  auto sampler = open_wall_sampler();
  REQUIRE(sampler->set_process(target->pid(), {&kNoLabels, 1}));
  REQUIRE(sampler->drain(handler, milliseconds(30)));
  CHECK(handler.samples.empty());  // not before start()
  REQUIRE(sampler->start());
  drain_until(*sampler, handler, [&] { return handler.samples.size() >= 20; });
  stop_and_balance(*sampler, handler);
  CHECK(sampler->counters().taken == other(*sampler, Counter::kTicks));
  CHECK(handler.count([](const Kept& sample) {
    return sample.outcome == LS_UNREADABLE_NO_RECIPE && sample.frames > 2 && sample.flags == 0;
  }) == handler.samples.size());
  CHECK(sampler->counters().stops.longest_us > 0);
  CHECK(sampler->counters().stops.longest_us >= sampler->counters().stops.median_us);
}

TEST_CASE("ptrace_sampler: a wait for samples ends as soon as there is something else to do") {
  PtraceSamplerOptions options;
  options.frequency_hz = 1;
  auto sampler = open_ptrace_sampler(options);
  REQUIRE(sampler);
  const UniqueFd request(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  REQUIRE((*sampler)->wake_on(request.get()));
  Handler handler;
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(eventfd_write(request.get(), 1) == 0);
  REQUIRE((*sampler)->drain(handler, std::chrono::hours(1)));
  CHECK(std::chrono::steady_clock::now() - begin < seconds(5));
}

TEST_CASE("ptrace_sampler: so does a tick, whose other threads may not stop for long") {
  struct Calling final : EventHandler {
    explicit Calling(int fd) : request(fd) {}
    void on_sample(const Sample&) override {
      ++samples;
      CHECK(eventfd_write(request, 1) == 0);
    }
    void on_fork(Pid, ProcessKey) override {}
    void on_exec(ProcessKey, std::string_view) override {}
    void on_exit(Pid) override {}
    void on_thread_end(ProcessKey, Tid, std::uint64_t) override {}
    void on_mapping(const MappingEvent&) override {}
    int request;
    unsigned samples = 0;
  };
  auto one = spawn_shell("echo ready; read word");
  auto two = spawn_shell("echo ready; read word");
  REQUIRE(one);
  REQUIRE(two);
  auto sampler = open_wall_sampler();
  const UniqueFd request(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  REQUIRE(sampler->wake_on(request.get()));
  REQUIRE(sampler->set_process(one->pid(), {&kNoLabels, 1}));
  REQUIRE(sampler->set_process(two->pid(), {&kNoLabels, 1}));
  REQUIRE(sampler->start());
  Calling handler(request.get());
  REQUIRE(sampler->drain(handler, std::chrono::hours(1)));
  CHECK(handler.samples == 1);
  REQUIRE(sampler->stop(handler));
}

TEST_CASE("ptrace_sampler: no thread is held while a table is made, and no sample lacks it") {
  auto target = spawn_shell("echo ready; read word");
  REQUIRE(target);
  Handler handler;
  PtraceSamplerOptions options;
  int made = 0;
  options.build_table = [&](UniqueFd file) {
    ++made;
    auto process = LiveProcess::open(target->pid());
    REQUIRE(process);
    auto status = (*process)->read_proc("status");
    REQUIRE(status);
    CHECK(status->find("State:\tt") == std::string::npos);
    return build_unwind_table(std::move(file));
  };
  auto sampler = open_wall_sampler(options);
  REQUIRE(sampler->set_process(target->pid(), {&kNoLabels, 1}));
  CHECK(made == 0);
  REQUIRE(sampler->start());
  drain_until(*sampler, handler, [&] { return handler.samples.size() >= 5; });
  stop_and_balance(*sampler, handler);
  CHECK(made >= 1);  // the shell, and libc unless the shell is a static program
  CHECK(handler.count([](const Kept& sample) { return sample.frames > 2; }) ==
        handler.samples.size());
}

TEST_CASE("ptrace_sampler: CPU time is not found where a thread sleeps") {
  const Napper target;
  // The thread may fall asleep while the sampler waits for a processor to stop it. That is rare,
  // but on a busy machine it may be a large part of one recording.
  std::size_t bad = 0;
  for (int recording = 0; recording < 3; ++recording) {
    Handler handler;
    PtraceSamplerOptions options;
    options.frequency_hz = 499;
    auto sampler = open_ptrace_sampler(options);
    REQUIRE(sampler);
    REQUIRE((*sampler)->set_process(target.pid(), {}));
    REQUIRE((*sampler)->start());
    drain_until(**sampler, handler, [&] { return handler.samples.size() >= 60; });
    stop_and_balance(**sampler, handler);
    const std::size_t asleep =
        handler.count([](const Kept& sample) { return is_in_sleep(sample.top); });
    UNSCOPED_INFO(asleep << " of " << handler.samples.size());
    bad += asleep * 5 >= handler.samples.size();
  }
  CHECK(bad <= 1);
}

// Computes without end, on the last processor that this process may use.
class Rival {
 public:
  Rival() : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    cpu_set_t ours;
    if (::sched_getaffinity(0, sizeof ours, &ours) != 0) ::_exit(1);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &ours)) --last;
    CPU_ZERO(&ours);
    CPU_SET(last, &ours);
    if (::sched_setaffinity(0, sizeof ours, &ours) != 0) ::_exit(1);
    for (;;) (void)std::chrono::steady_clock::now();
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;
  ~Rival() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  pid_t pid_;
};

TEST_CASE("ptrace_sampler: a thread that was found waiting for a processor is looked for again") {
  if (run_time_of(Pid{::getpid()}).count() == 0) skip_test("this kernel has no schedstat");
  const Rival target;
  const Rival other_one;
  Handler handler;
  PtraceSamplerOptions options;
  options.frequency_hz = 999;
  auto sampler = open_ptrace_sampler(options);
  REQUIRE(sampler);
  REQUIRE((*sampler)->set_process(target.pid(), {}));
  const std::chrono::nanoseconds before = run_time_of(target.pid());
  REQUIRE((*sampler)->start());
  // If each look took a credit, there would be no more looks than periods of CPU time.
  drain_until(**sampler, handler, [&] {
    const auto periods = (run_time_of(target.pid()) - before) * 999 / seconds(1);
    const auto looks = handler.samples.size() + other(**sampler, Counter::kThreadsWaitingAgain);
    return looks > 20 + static_cast<std::uint64_t>(periods) * 5 / 4;
  });
  stop_and_balance(**sampler, handler);
}

TEST_CASE("ptrace_sampler: what cannot be sampled is refused with the reason") {
  auto sampler = open_wall_sampler();
  constexpr std::int32_t kNobody = 4'194'304;  // past the kernel's largest number
  const Status gone = sampler->set_process(Pid{kNobody}, {});
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == ErrorCode::kVanished);
  const std::vector<ls_tls_recipe> many(LS_MAX_PUBLISHERS + 1);
  const Status too_many = sampler->set_process(Pid{::getpid()}, many);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().code == ErrorCode::kLimit);
  PtraceSamplerOptions never;
  never.frequency_hz = 0;
  CHECK_FALSE(open_ptrace_sampler(never));
}

}  // namespace labelscope::test
