// Tests the recorder and its processes, with a sampler whose behaviour the test decides.
#include "cli/record/recorder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "cli/record/samplers.h"
#include "process/cpu_times.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A sampler that refuses recipes until it has reported an exec, as samplers do for a process that
// has replaced its program.
class SamplerOfAnExec final : public Sampler {
 public:
  Status set_process(Pid, std::span<const ls_tls_recipe> recipes) override {
    const bool planned = recipes.empty() || recipes[0].kind != LS_RECIPE_NOT_RELOCATED;
    if (planned && !told_)
      return Error{ErrorCode::kVanished, "it has executed another program meanwhile"};
    if (planned) ++plans_;
    return {};
  }
  Status remove_process(Pid pid) override {
    removed_ = pid;
    return {};
  }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (!std::exchange(told_, true)) handler.on_exec(Pid{getpid()});
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }

  int plans() const { return plans_; }
  Pid removed() const { return removed_; }
  void report_again() { told_ = false; }

 private:
  bool told_ = false;
  int plans_ = 0;
  Pid removed_{};
};

}  // namespace

TEST_CASE("recorder: a process that executes another program while it is added is planned then") {
  auto owned = std::make_unique<SamplerOfAnExec>();
  const SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  const Status added = recorder.add(Pid{getpid()});
  INFO((added ? "" : added.error().context));
  REQUIRE(added);
  CHECK(sampler.plans() == 0);
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  CHECK(sampler.plans() == 1);
}

TEST_CASE("recorder: a recording is calm a while after the last event of its processes") {
  const auto begin = TrackedProcess::Clock::now();
  auto owned = std::make_unique<SamplerOfAnExec>();
  SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(Pid{getpid()}));
  REQUIRE(recorder.start());
  CHECK_FALSE(recorder.is_calm());
  while (!recorder.is_calm()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // The last plan of a library is made so late.
  CHECK(TrackedProcess::Clock::now() - begin >= std::chrono::milliseconds(20 + 100 + 500));
  sampler.report_again();
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  CHECK_FALSE(recorder.is_calm());
}

TEST_CASE("recorder: the rate of samples of waits is held all the time") {
  constexpr std::array kWithWaits{LS_ON_CPU, LS_WAITING};
  const Recorder recorder(std::make_unique<SamplerOfAnExec>(),
                          {.kinds = kWithWaits, .period_ns = 1000});
  CHECK_FALSE(recorder.is_calm());
  const Recorder without(std::make_unique<SamplerOfAnExec>(), {.period_ns = 1000});
  CHECK(without.is_calm());
}

TEST_CASE("recorder: a process that has ended is not added") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  auto owned = std::make_unique<SamplerOfAnExec>();
  const SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  const Status added = recorder.add(Pid{child});
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kVanished);
  CHECK(raw(sampler.removed()) == child);
  CHECK(recorder.processes().empty());
}

namespace {

// Returns a child that has used so much CPU time, and has stopped itself.
pid_t child_that_has_computed(std::uint64_t time_ns) {
  const pid_t child = fork();
  if (child == 0) {
    while (process_time(Pid{getpid()}).value_or(0) < time_ns) continue;
    raise(SIGSTOP);
    _exit(0);
  }
  REQUIRE(waitpid(child, nullptr, WUNTRACED) == child);
  return child;
}

}  // namespace

TEST_CASE("recorder: what a process has computed before it joins is not the recording's time") {
  constexpr std::uint64_t kPast = 200'000'000;
  const pid_t child = child_that_has_computed(kPast);
  REQUIRE(process_time(Pid{child}).value_or(0) >= kPast);
  Recorder recorder(std::make_unique<SamplerOfAnExec>(), {.period_ns = 1000});
  REQUIRE(recorder.start());
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));  // an exec, for a sampler that is fit
  CHECK(recorder.add_counted(Pid{child}));
  CHECK(recorder.processes().contains(Pid{child}));
  CHECK(recorder.plans() == 1);
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  CHECK(recorder.take_profile(files, 0).ledger.time.whole() < kPast / 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

namespace {

// A sampler that reports a fork as soon as it is drained.
class SamplerOfAFork final : public Sampler {
 public:
  explicit SamplerOfAFork(Pid child) : child_(child) {}
  Status set_process(Pid, std::span<const ls_tls_recipe>) override {
    ++set_;
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (raw(child_) != 0) handler.on_fork(Pid{getpid()}, std::exchange(child_, Pid{}));
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }
  int set() const { return set_; }

 private:
  Pid child_;
  int set_ = 0;
};

}  // namespace

TEST_CASE("recorder: what a child has computed before the recording is not the recording's time") {
  constexpr std::uint64_t kPast = 200'000'000;
  const bool added_before = GENERATE(false, true);
  const pid_t child = child_that_has_computed(kPast);
  auto owned = std::make_unique<SamplerOfAFork>(Pid{child});
  const SamplerOfAFork& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  if (added_before) REQUIRE(recorder.add(Pid{child}));
  const TrackedProcess* planned =
      added_before ? recorder.processes().at(Pid{child}).get() : nullptr;
  REQUIRE(recorder.start());
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  REQUIRE(recorder.processes().contains(Pid{child}));
  // It stays as it was planned.
  if (added_before) CHECK(recorder.processes().at(Pid{child}).get() == planned);
  CHECK(sampler.set() == (added_before ? 2 : 0));
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  CHECK(recorder.take_profile(files, 0).ledger.time.whole() < kPast / 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("recorder: ptrace stands in where BPF may not be had, and never for one that failed") {
  for (ErrorCode code : {ErrorCode::kPermission, ErrorCode::kUnsupported, ErrorCode::kLimit}) {
    CHECK(calls_for_ptrace({code, {}}));
  }
  // The errors are the verifier's refusal and unexpected ones.
  for (ErrorCode code : {ErrorCode::kSystem, ErrorCode::kMalformed, ErrorCode::kUnreadable}) {
    CHECK_FALSE(calls_for_ptrace({code, {}}));
  }
}

TEST_CASE("recorder: what is mapped is planned at once and three times more, as loaders relocate") {
  auto owned = std::make_unique<SamplerOfAnExec>();
  const SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(Pid{getpid()}));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));  // reports an exec
  while (sampler.plans() < 4 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30))
    REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  CHECK(sampler.plans() == 4);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20 + 100 + 500));
  const TrackedProcess& process = *recorder.processes().begin()->second;
  CHECK_FALSE(process.plan_due(TrackedProcess::Clock::now() + std::chrono::hours(1)));
}

// A sampler in which a parent forks children. They are sampled once and end, all in its first
// drain.
class SamplerOfShortLives final : public Sampler {
 public:
  explicit SamplerOfShortLives(int children) : children_(children) {}
  Status set_process(Pid, std::span<const ls_tls_recipe>) override { return {}; }
  Status remove_process(Pid) override { return {}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    for (; done_ < children_; ++done_) {
      const Pid child = child_of(done_);
      handler.on_fork(Pid{getpid()}, child);
      handler.on_sample(sample_of(child));
      handler.on_exit(child);
    }
    if (late_) handler.on_sample(sample_of(*std::exchange(late_, std::nullopt)));
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }

  // These are numbers that no process has.
  static Pid child_of(int index) { return Pid{(1 << 22) + index}; }
  void sample_again(Pid pid) { late_ = pid; }

 private:
  static Sample sample_of(Pid pid) {
    Sample sample;
    sample.pid = pid;
    sample.tid = Tid{raw(pid)};
    sample.comm = "short";
    return sample;
  }
  int children_;
  int done_ = 0;
  std::optional<Pid> late_;
};

TEST_CASE("recorder: processes that have ended are let go of, and their numbers stay") {
  constexpr int kChildren = 500;
  auto owned = std::make_unique<SamplerOfShortLives>(kChildren);
  SamplerOfShortLives& sampler = *owned;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(Pid{getpid()}));
  REQUIRE(recorder.start());
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  CHECK(recorder.processes().size() == kChildren + 1);
  const auto wait_until_over = [&] {
    const auto begin = std::chrono::steady_clock::now();
    while (recorder.processes().size() > 2 &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
      REQUIRE(recorder.step(std::chrono::milliseconds(0)));
    }
    // The parent still runs. One of the processes that ended stays as an example.
    CHECK(recorder.processes().size() == 2);
    CHECK(recorder.process_count() == kChildren + 1);
  };
  wait_until_over();
  // A thread that gives its memory back in the kernel is sampled after the end of its process.
  const Pid late = SamplerOfShortLives::child_of(kChildren - 1);
  sampler.sample_again(late);
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  REQUIRE(recorder.processes().contains(late));
  CHECK(recorder.processes().at(late)->ended());
  CHECK(recorder.processes().at(late)->comm() == "short");
  wait_until_over();
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  CHECK(profile.ledger.written == kChildren + 1);
  CHECK(profile.ledger.counters[Counter::kForksNotSeen] == 0);
  REQUIRE(profile.processes.size() == kChildren + 1);
  CHECK(std::ranges::is_sorted(profile.processes, {}, &Process::pid));
  for (const Process& process : profile.processes) CHECK_FALSE(process.comm.empty());
}

TEST_CASE("recorder: after an exec no address is what it was, and nothing has a plan") {
  ModuleTable modules;
  TrackedProcess process(Pid{getpid()}, modules);
  ProcessLabelReader none({});
  REQUIRE(process.refresh(none));
  const std::uint64_t before = process.address_epoch();
  process.on_exec();
  CHECK(process.address_epoch() != before);
  CHECK(process.recipes().empty());
  CHECK(process.plan_due(TrackedProcess::Clock::now()));
}
