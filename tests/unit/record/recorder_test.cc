// Tests the recorder and its processes, with a sampler whose behaviour the test decides.
#include "cli/record/recorder.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
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
  Status set_process(Pid, std::span<const ls_tls_recipe> recipes, const PresetPlans&) override {
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
  ProcessKey key_of(Pid pid) const override { return {pid, life_}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (!std::exchange(told_, true)) handler.on_exec({Pid{getpid()}, ++life_}, {});
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
  std::uint32_t life_ = 1;
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

namespace {

// A sampler in which processes execute a program at the same time.
class SamplerOfManyExecs final : public Sampler {
 public:
  explicit SamplerOfManyExecs(std::vector<Pid> pids) : pids_(std::move(pids)) {}
  Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes,
                     const PresetPlans&) override {
    if (recipes.empty()) planned_.insert(pid);
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, life_}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
    if (!executes_) return {};
    executes_ = false;
    ++life_;
    planned_.clear();
    for (const Pid pid : pids_) handler.on_exec({pid, life_}, {});
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }

  void execute() { executes_ = true; }
  std::size_t planned() const { return planned_.size(); }
  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  std::vector<Pid> pids_;
  std::set<Pid> planned_;
  std::uint32_t life_ = 1;
  bool executes_ = false;
  std::chrono::milliseconds timeout_{};
};

}  // namespace

TEST_CASE("recorder: where many programs start at once, samples do not wait for all plans") {
  std::vector<Pid> pids;
  for (int i = 0; i < 3; ++i) pids.push_back(Pid{child_that_has_computed(0)});
  auto owned = std::make_unique<SamplerOfManyExecs>(pids);
  SamplerOfManyExecs& sampler = *owned;
  Recorder recorder(std::move(owned),
                    {.period_ns = 1000, .plan_budget = std::chrono::milliseconds(0)});
  for (const Pid pid : pids) REQUIRE(recorder.add(pid));
  REQUIRE(recorder.start());
  CHECK(sampler.planned() == 3);
  sampler.execute();
  REQUIRE(recorder.step(std::chrono::milliseconds(50)));
  CHECK(sampler.planned() == 1);
  // The others do not wait for events.
  REQUIRE(recorder.step(std::chrono::milliseconds(50)));
  CHECK(sampler.timeout().count() == 0);
  CHECK(sampler.planned() == 2);
  // At the end each has its plan.
  REQUIRE(recorder.stop());
  CHECK(sampler.planned() == 3);
  std::vector<ModuleFile> files;
  CHECK(recorder.take_profile(files, 0).ledger.counters[Counter::kPlansPostponed] == 3);
  for (const Pid pid : pids) {
    kill(raw(pid), SIGKILL);
    waitpid(raw(pid), nullptr, 0);
  }
}

TEST_CASE("recorder: what a process has computed before it joins is not the recording's time") {
  constexpr std::uint64_t kPast = 200'000'000;
  const pid_t child = child_that_has_computed(kPast);
  REQUIRE(process_time(Pid{child}).value_or(0) >= kPast);
  Recorder recorder(std::make_unique<SamplerOfAnExec>(), {.period_ns = 1000});
  REQUIRE(recorder.start());
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));  // an exec, for a sampler that is fit
  CHECK(recorder.add_counted(Pid{child}));
  CHECK(recorder.current(Pid{child}) != nullptr);
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
  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    ++set_;
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, 1}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (raw(child_) != 0) handler.on_fork(Pid{getpid()}, {std::exchange(child_, Pid{}), 1});
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
      added_before ? recorder.current(Pid{child}) : nullptr;
  REQUIRE(recorder.start());
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  REQUIRE(recorder.current(Pid{child}) != nullptr);
  // It stays as it was planned.
  if (added_before) CHECK(recorder.current(Pid{child}) == planned);
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
  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, 1}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    for (; done_ < children_; ++done_) {
      const Pid child = child_of(done_);
      handler.on_fork(Pid{getpid()}, {child, 1});
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
    sample.process = {pid, 1};
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
  const ProcessKey key{late, 1};
  REQUIRE(recorder.processes().contains(key));
  CHECK(recorder.processes().at(key)->ended());
  CHECK(recorder.processes().at(key)->comm() == "short");
  wait_until_over();
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  CHECK(profile.ledger.written == kChildren + 1);
  CHECK(profile.ledger.counters[Counter::kForksNotSeen] == 0);
  REQUIRE(profile.processes.size() == kChildren + 1);
  for (const Process& process : profile.processes) CHECK_FALSE(process.comm.empty());
}

TEST_CASE("recorder: after an exec no address is what it was, and nothing has a plan") {
  ModuleTable modules;
  TrackedProcess process({Pid{getpid()}, 1}, modules);
  ProcessLabelReader none({});
  REQUIRE(process.refresh(none));
  const std::uint64_t before = process.address_epoch();
  process.on_exec();
  CHECK(process.address_epoch() != before);
  CHECK(process.recipes().empty());
  CHECK(process.plan_due(TrackedProcess::Clock::now()));
}

namespace {

// A sampler that reports what a test has written down.
class SamplerOfAScript final : public Sampler {
 public:
  using Step = std::function<void(EventHandler&)>;
  explicit SamplerOfAScript(std::vector<Step> steps) : steps_(std::move(steps)) {}
  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    ++set;
    return {};
  }
  Status set_sampled_process(Pid pid) override {
    if (!forgets) return set_process(pid, {&kNotPlanned, 1}, {});
    return Error{ErrorCode::kVanished, "it is sampled no longer"};
  }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, forgets ? 0U : 100U}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    for (const Step& step : std::exchange(steps_, {})) step(handler);
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::vector<WaitTotal> wait_totals() const override { return totals; }
  ThreadLedgers thread_ledgers() const override { return ledgers; }
  std::string_view event_name() const override { return "none"; }

  std::vector<WaitTotal> totals;
  ThreadLedgers ledgers;
  int set = 0;           // calls of set_process()
  bool forgets = false;  // what was sampled is sampled no longer

 private:
  std::vector<Step> steps_;
};

Sample sample_of(ProcessKey process, std::string_view comm, ls_sample_kind kind = LS_ON_CPU) {
  Sample sample;
  sample.process = process;
  sample.tid = Tid{raw(process.pid)};
  sample.comm = comm;
  sample.kind = kind;
  if (kind != LS_ON_CPU) sample.weight_ns = 1000;
  return sample;
}

// Returns the number of samples, or the time, by the name of their process.
std::map<std::string, std::uint64_t> by_name(const Profile& profile, Pid pid,
                                             std::uint64_t SampleRow::*what) {
  std::map<std::string, std::uint64_t> sums;
  for (const SampleRow& row : profile.rows) {
    const Process& process = profile.processes.at(profile.threads.at(row.thread).process);
    CHECK(process.pid == pid);
    sums[process.comm] += row.*what;
  }
  return sums;
}

constexpr Pid kChild{(1 << 22) + 7};

}  // namespace

TEST_CASE("recorder: the number of a process that is sampled no longer is not recorded") {
  const Pid number{getpid()};  // another process has it
  const bool forgets = GENERATE(false, true);
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& handler) { handler.on_sample(sample_of({number, 7}, "gone")); }});
  SamplerOfAScript& sampler = *owned;
  sampler.forgets = forgets;
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.start());
  CHECK((sampler.set == 0) == forgets);
  CHECK(recorder.has(number) == !forgets);
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  CHECK(recorder.take_profile(files, 0).rows.size() == 1);
}

TEST_CASE("recorder: a number that comes again is another process, and so is another program") {
  const Pid self{getpid()};
  const ProcessKey first{kChild, 1}, second{kChild, 2}, third{kChild, 3};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, first); },
      [&](EventHandler& to) { to.on_sample(sample_of(first, "first")); },
      [&](EventHandler& to) { to.on_exit(kChild); },
      [&](EventHandler& to) { to.on_fork(self, second); },
      [&](EventHandler& to) { to.on_sample(sample_of(second, "second")); },
      // A thread that ends works on in the kernel when its number is another's.
      [&](EventHandler& to) { to.on_sample(sample_of(first, "first")); },
      // The kernel gives the name a moment before it announces the exec.
      [&](EventHandler& to) { to.on_sample(sample_of(second, "third")); },
      [&](EventHandler& to) { to.on_exec(third, "third"); },
      [&](EventHandler& to) { to.on_sample(sample_of(third, "third")); },
      [&](EventHandler& to) { to.on_sample(sample_of(third, "third")); },
      [&](EventHandler& to) { to.on_sample(sample_of(third, "third")); },
  });
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  CHECK(recorder.process_count() == 3);  // the last one has executed a program
  CHECK(recorder.current(kChild)->key() == third);
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  CHECK(by_name(profile, kChild, &SampleRow::count) ==
        std::map<std::string, std::uint64_t>{{"first", 2}, {"second", 2}, {"third", 3}});
  CHECK(profile.ledger.counters[Counter::kForksNotSeen] == 0);
}

TEST_CASE("recorder: a process has its last name, also without a sample that has it") {
  const Pid self{getpid()};
  const ProcessKey first{kChild, 1}, second{kChild, 2};
  char before[16] = {};
  REQUIRE(prctl(PR_GET_NAME, before) == 0);
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, first); },
      [&](EventHandler& to) { to.on_sample(sample_of(first, "begins")); },
      [&](EventHandler& to) { to.on_last_name(first, "ends"); },
      [&](EventHandler& to) { to.on_exit(kChild); },
      [&](EventHandler& to) { to.on_fork(self, second); },
      [&](EventHandler& to) { to.on_sample(sample_of(second, "second")); },
      [&](EventHandler& to) { to.on_last_name(first, "another"); },
      [&](EventHandler& to) { to.on_sample(sample_of({self, 100}, "before")); },
  });
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  prctl(PR_SET_NAME, "renamed");
  REQUIRE(recorder.stop());
  prctl(PR_SET_NAME, before);
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  std::set<std::string> names;
  for (const Process& process : profile.processes) names.insert(process.comm);
  CHECK(names == std::set<std::string>{"ends", "second", "renamed"});
}

TEST_CASE("recorder: totals of waits are of the process that has waited, also after its end") {
  const Pid self{getpid()};
  const ProcessKey first{kChild, 1}, second{kChild, 2}, third{kChild, 3};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, first); },
      [&](EventHandler& to) { to.on_sample(sample_of(first, "first", LS_WAITING)); },
      [&](EventHandler& to) { to.on_exit(kChild); },
      [&](EventHandler& to) { to.on_fork(self, second); },
      [&](EventHandler& to) { to.on_exec(third, {}); },
      [&](EventHandler& to) { to.on_sample(sample_of(third, "third", LS_WAITING)); },
  });
  for (const ProcessKey key : {first, second, third}) {
    WaitTotal total;
    total.process = key;
    total.labels = LS_UNLABELLED;
    total.time_ns = 1'000'000 * key.life;
    total.count = 1;
    owned->totals.push_back(total);
    ThreadLedger ledger;
    ledger.process = key;
    ledger.tid = Tid{raw(key.pid)};
    ledger.wall_ns = total.time_ns;
    owned->ledgers.add(ledger);
  }
  constexpr std::array kWaits{LS_WAITING};
  Recorder recorder(std::move(owned), {.kinds = kWaits, .period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  // Before its exec the second one had the name of the process that had forked it.
  const std::string forked = recorder.current(self)->comm();
  CHECK(by_name(profile, kChild, &SampleRow::weight_ns) ==
        std::map<std::string, std::uint64_t>{
            {"first", 1'000'000}, {forked, 2'000'000}, {"third", 3'000'000}});
  std::map<std::string, std::uint64_t> walls;
  for (const ThreadLedger& ledger : profile.thread_ledgers.threads())
    walls[profile.processes.at(ledger.entry).comm] += ledger.wall_ns;
  CHECK(walls == by_name(profile, kChild, &SampleRow::weight_ns));
}

TEST_CASE("recorder: a server whose first process has the number of another one is another one") {
  const Pid self{getpid()};
  const Pid worker{raw(kChild) + 1}, later_worker{raw(kChild) + 2};
  const ProcessKey first{kChild, 2}, second{kChild, 4};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, {kChild, 1}); },
      [&](EventHandler& to) { to.on_exec(first, "server"); },
      [&](EventHandler& to) { to.on_fork(kChild, {worker, 10}); },
      [&](EventHandler& to) { to.on_exit(kChild); },
      [&](EventHandler& to) { to.on_fork(self, {kChild, 3}); },
      [&](EventHandler& to) { to.on_exec(second, "server"); },
      [&](EventHandler& to) { to.on_fork(kChild, {later_worker, 20}); },
  });
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  std::map<Pid, ProcessKey> servers;
  for (const Process& process : profile.processes) servers[process.pid] = process.server;
  CHECK(servers[self] == ProcessKey{self, 100});
  CHECK(servers[worker] == first);
  CHECK(servers[later_worker] == second);
}

TEST_CASE("recorder: a program that executes one of its own name keeps the name") {
  const Pid self{getpid()};
  const ProcessKey shell{kChild, 1}, wrapper{kChild, 2}, program{kChild, 3};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, shell); },
      [&](EventHandler& to) { to.on_sample(sample_of(shell, "bash")); },
      [&](EventHandler& to) { to.on_exec(wrapper, "java"); },
      [&](EventHandler& to) { to.on_sample(sample_of(wrapper, "java")); },
      [&](EventHandler& to) { to.on_exec(program, "java"); },
      [&](EventHandler& to) { to.on_sample(sample_of(program, "java")); },
  });
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  const Profile profile = recorder.take_profile(files, 0);
  CHECK(by_name(profile, kChild, &SampleRow::count) ==
        std::map<std::string, std::uint64_t>{{"bash", 1}, {"java", 2}});
}

TEST_CASE("recorder: a process that was taken for another one of its number lives on") {
  const Pid self{getpid()};
  const ProcessKey first{kChild, 1}, second{kChild, 2}, third{kChild, 3};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_fork(self, first); },
      [&](EventHandler& to) { to.on_sample(sample_of(first, "first")); },
      // Its end and the fork of the next process were lost, and are found out later.
      [&](EventHandler& to) { to.on_exec(third, "third"); },
      [&](EventHandler& to) { to.on_exit(kChild); },
      [&](EventHandler& to) { to.on_fork(self, second); },
      [&](EventHandler& to) { to.on_exec(third, "third"); },
      [&](EventHandler& to) { to.on_sample(sample_of(third, "third")); },
  });
  Recorder recorder(std::move(owned), {.period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  REQUIRE(recorder.current(kChild) != nullptr);
  CHECK(recorder.current(kChild)->key() == third);
  CHECK_FALSE(recorder.current(kChild)->ended());
  CHECK(recorder.has(kChild));
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  CHECK(by_name(recorder.take_profile(files, 0), kChild, &SampleRow::count) ==
        std::map<std::string, std::uint64_t>{{"first", 1}, {"third", 1}});
}

TEST_CASE("recorder: totals that come before anything else of a process are its own") {
  const Pid self{getpid()};
  const ProcessKey forked{kChild, 1}, executed{kChild, 2};
  const auto total_of = [](ProcessKey key) {
    WaitTotal total;
    total.process = key;
    total.labels = LS_UNLABELLED;
    total.time_ns = 1'000'000;
    total.count = 1;
    return total;
  };
  const std::vector<WaitTotal> totals{total_of(forked), total_of(executed)};
  auto owned = std::make_unique<SamplerOfAScript>(std::vector<SamplerOfAScript::Step>{
      [&](EventHandler& to) { to.on_waits(totals, {}); },
      [&](EventHandler& to) { to.on_fork(self, forked); },
      [&](EventHandler& to) { to.on_sample(sample_of(forked, "forked", LS_WAITING)); },
      [&](EventHandler& to) { to.on_exec(executed, "executed"); },
      [&](EventHandler& to) { to.on_sample(sample_of(executed, "executed", LS_WAITING)); },
  });
  constexpr std::array kWaits{LS_WAITING};
  Recorder recorder(std::move(owned), {.kinds = kWaits, .period_ns = 1000});
  REQUIRE(recorder.add(self));
  REQUIRE(recorder.start());
  CHECK_FALSE(recorder.current(kChild)->ended());
  REQUIRE(recorder.stop());
  std::vector<ModuleFile> files;
  CHECK(by_name(recorder.take_profile(files, 0), kChild, &SampleRow::weight_ns) ==
        std::map<std::string, std::uint64_t>{{"forked", 1'000'000}, {"executed", 1'000'000}});
}
