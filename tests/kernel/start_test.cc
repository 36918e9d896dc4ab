// Tests what the sampler makes of code that processes map, and of children that they fork, before
// the first sample and after the last one.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/mapping_reports.h"
#include "bpf/sampling/process_table.h"
#include "bpf/sampling/processor_watch.h"
#include "bpf/unwind/stack_tables.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "process/cpu_times.h"
#include "process/first_looks.h"
#include "process/named_mappings.h"
#include "process/proc_fs.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Each processor has a ring of its own.
void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
}

void map_when_told(const ChildSide& parent, unsigned times) {
  parent.wait_until_told();
  parent.take();
  parent.say(map_code(times));
}

std::size_t open_perf_events() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    count += std::filesystem::read_symlink(each, ignored) == "anon_inode:[perf_event]" ? 1 : 0;
  }
  return count;
}

// A thread that runs when sampling begins or ends may lack the last tick on either side.
constexpr std::uint64_t kTicksNs = 20'000'000;

constexpr std::uint64_t kPastNs = 200'000'000;

// Forks, at the parent's word, a child that computes or waits until it is killed with this process.
void fork_when_told(ChildSide& parent, bool computes) {
  parent.wait_until_told();
  parent.take();
  const pid_t parents = ::getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parents) {
      if (computes) {
        burn([] { return true; });
      } else {
        ::pause();
      }
    }
    _exit(0);
  }
  parent.say(static_cast<std::uint64_t>(pid));
  parent.wait_until_told();
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::uint64_t ran_ns(Pid pid) { return process_time(pid).value_or(0); }

bool has(const Taken& taken, Address start) {
  return std::ranges::find(taken.mappings, start, &TakenMapping::start) != taken.mappings.end();
}

// The kernel has no room to announce the first mappings, and announces the last.
void map_more_than_is_announced(ChildSide& parent) {
  stay_on_one_processor();
  map_when_told(parent, kMoreThanARing);
  map_when_told(parent, 1);
  parent.burn_until_told();
}

}  // namespace

TEST_CASE("start: what is mapped between the first look and the start is reported") {
  SampledChild child([](ChildSide& parent) {
    map_when_told(parent, 1);
    parent.burn_until_told();
  });
  auto sampler = open_sampler({.first_processes = {child.pid()}});
  child.tell();
  const Address start = child.hear();
  const OneLook* look = sampler->first_look(child.pid());
  REQUIRE(look != nullptr);
  const auto mappings = look->mappings();
  REQUIRE(mappings);
  REQUIRE(find_mapping(*mappings, start) == nullptr);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  CHECK(sampler->first_look(child.pid()) == nullptr);
  Taken taken;
  drain_until(*sampler, taken, [&] { return !taken.mappings.empty(); });
  CHECK(taken.mappings[0].pid == child.pid());
  CHECK(taken.mappings[0].start == start);
}

TEST_CASE("start: a process that has mapped something since has no first look any more") {
  skip_without_bpf();
  SampledChild child([](ChildSide& parent) {
    stay_on_one_processor();
    map_when_told(parent, 1);
    map_when_told(parent, kMoreThanARing);
  });
  const SampledChild other([](ChildSide& parent) { parent.wait_until_told(); });
  auto events = MappingEvents::open({});
  REQUIRE(events);
  FirstLooks looks({child.pid(), other.pid()});
  looks.begin();
  const auto object = BpfObject::load({});
  REQUIRE(object);
  looks.settle();
  ProcessTable processes(**object);
  StackTables tables;
  MappingReports reports(*events, looks, processes, tables);
  CHECK_FALSE(reports.take_early());
  REQUIRE(looks.of(child.pid()) != nullptr);
  child.tell();
  child.hear();
  CHECK_FALSE(reports.take_early());  // it is not sampled, so tables know nothing of it
  CHECK(looks.of(child.pid()) == nullptr);
  CHECK(looks.of(other.pid()) != nullptr);
  child.tell();
  child.hear();
  CHECK_FALSE(reports.take_early());
  CHECK(looks.of(other.pid()) == nullptr);  // what it has mapped may be lost
}

namespace {

// Returns how often it was said that mappings are missing.
std::size_t losses_noted_for_one() {
  SampledChild child(map_more_than_is_announced);
  auto sampler = open_sampler();
  child.tell();
  const Address unannounced = child.hear();
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.mappings_lost != 0; });
  REQUIRE_FALSE(has(taken, unannounced));
  child.tell();
  const Address announced = child.hear();
  drain_until(*sampler, taken, [&] { return has(taken, announced); });
  const Counters counters = stop_and_balance(*sampler, taken);
  CHECK((taken.mappings_lost > 1 || counters.others[Counter::kMappingEventsLost] == 0));
  return taken.mappings_lost;
}

}  // namespace

// All processes of the machine are announced in the same rings. Where this test gets no processor
// for long, programs that begin meanwhile fill one of them once more, but not every time.
TEST_CASE("start: what the kernel could not announce before is looked for, and is no loss") {
  constexpr int kAttempts = 5;
  std::size_t losses = 0;
  for (int attempt = 0; attempt < kAttempts && losses != 1; ++attempt) {
    losses = losses_noted_for_one();
    REQUIRE(losses != 0);
  }
  CHECK(losses == 1);
}

TEST_CASE("start: what the kernel could not announce while it samples is a loss") {
  SampledChild child(map_more_than_is_announced);
  auto sampler = open_sampler();
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  const std::uint64_t before_ns = now_ns();
  child.tell();
  child.hear();
  drain_until(*sampler, taken, [&] { return taken.mappings_lost != 0; });
  // What the kernel has announced last is the beginning of what it may not have announced.
  CHECK(taken.mappings_lost_since_ns > before_ns);
  CHECK(taken.mappings_lost_since_ns < now_ns());
  child.tell();
  const Address announced = child.hear();
  drain_until(*sampler, taken, [&] { return has(taken, announced); });
  const Counters counters = stop_and_balance(*sampler, taken);
  CHECK(counters.others[Counter::kMappingEventsLost] != 0);
}

TEST_CASE("start: mappings are reported from the opening to the end of reports") {
  skip_without_bpf();
  std::size_t seen = 0;
  PerfRing::Handler handler;
  handler.on_mapping = [&](const MappingEvent& event) { seen += raw(event.pid) == ::getpid(); };
  {
    auto events = MappingEvents::open({});
    REQUIRE(events);
    CHECK(open_perf_events() != 0);
    map_code(3);
    events->drain(handler);
    CHECK(seen == 3);
    events->end();
    map_code(3);
    events->drain(handler);
    CHECK(seen == 3);
  }
  CHECK(open_perf_events() == 0);
}

TEST_CASE("start: a processor whose events have ceased is named, once") {
  skip_without_bpf();
  auto events = MappingEvents::open({});
  REQUIRE(events);
  ProcessorWatch watch(*events);
  watch.look();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  watch.look();
  CHECK(watch.remarks().empty());
  // For the kernel they are then like those of a processor that was offline.
  events->end();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    watch.look();
  }
  CHECK(watch.not_sampled() == open_perf_events());
  REQUIRE(watch.remarks().size() == 1);
  CHECK(watch.remarks()[0].starts_with("CPU 0"));
  CHECK(watch.remarks()[0].find("was offline") != std::string::npos);
}

TEST_CASE("start: what is mapped after the end is not reported, and is no loss") {
  SampledChild child([](ChildSide& parent) {
    stay_on_one_processor();
    map_when_told(parent, kMoreThanARing);
  });
  auto sampler = open_sampler();
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  CHECK(open_perf_events() != 0);
  Taken taken;
  stop_and_balance(*sampler, taken);
  child.tell();
  child.hear();
  CHECK(sampler->counters().others[Counter::kMappingEventsLost] == 0);
  CHECK(taken.mappings_lost == 0);
  sampler.reset();
  CHECK(open_perf_events() == 0);
}

TEST_CASE("start: a child that was forked before runs for the recording from the start on") {
  const bool is_set = GENERATE(false, true);
  SampledChild child([](ChildSide& parent) { fork_when_told(parent, true); });
  auto sampler = open_sampler({.frequency_hz = 199});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  child.tell();
  const Pid grandchild{static_cast<std::int32_t>(child.hear())};
  wait_for([&] { return ran_ns(grandchild) >= kPastNs; });
  if (is_set) REQUIRE(sampler->set_process(grandchild, {&child.recipe(), 1}));
  const std::uint64_t before = ran_ns(grandchild);
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return ran_ns(grandchild) >= before + kPastNs; });
  const std::uint64_t until = ran_ns(grandchild);
  stop_and_balance(*sampler, taken);
  const std::uint64_t after = ran_ns(grandchild);
  CHECK(taken.forks == std::vector<std::pair<Pid, Pid>>{{child.pid(), grandchild}});
  const std::uint64_t told = taken.ends[Tid{raw(grandchild)}];
  CHECK(told <= after - before + kTicksNs);
  CHECK(told + kPastNs / 2 >= until - before);
}

TEST_CASE("start: a child whose fork was not read has run until the end") {
  SampledChild child([](ChildSide& parent) { fork_when_told(parent, true); });
  auto sampler = open_sampler({.frequency_hz = 1});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  child.tell();
  const Pid grandchild{static_cast<std::int32_t>(child.hear())};
  wait_for([&] { return ran_ns(grandchild) >= kPastNs; });
  Taken taken;
  stop_and_balance(*sampler, taken);
  CHECK(taken.ends[Tid{raw(grandchild)}] + kTicksNs >= kPastNs);
}

namespace {

// Forks, at the parent's word, a child that computes for kPastNs and ends, and says its number. It
// is reaped at the second word.
void fork_and_reap(ChildSide& parent) {
  parent.wait_until_told();
  parent.take();
  const pid_t pid = fork();
  if (pid == 0) {
    burn([] {
      timespec ran{};
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
      return ran.tv_sec != 0 || static_cast<std::uint64_t>(ran.tv_nsec) >= kPastNs;
    });
    _exit(0);
  }
  parent.say(static_cast<std::uint64_t>(pid));
  parent.wait_until_told();
  parent.take();
  waitpid(pid, nullptr, 0);
  parent.say(0);
  parent.burn_until_told();
}

void wait_until_ended(Pid pid) {
  wait_for([&] {
    const auto stat = read_thread_stat("/proc/" + std::to_string(raw(pid)) + "/stat");
    return stat && stat->state == 'Z';
  });
}

}  // namespace

TEST_CASE("start: a child that has ended before, and is not reaped, has run for nothing") {
  SampledChild child(fork_and_reap);
  auto sampler = open_sampler({.frequency_hz = 199});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  child.tell();
  const Pid grandchild{static_cast<std::int32_t>(child.hear())};
  wait_until_ended(grandchild);
  REQUIRE(sampler->start());
  Taken taken;
  const bool is_reaped = GENERATE(false, true);
  if (is_reaped) {
    child.tell();
    child.hear();
    drain_until(*sampler, taken, [&] { return !taken.samples.empty(); });
  }
  stop_and_balance(*sampler, taken);
  CHECK(taken.ends[Tid{raw(grandchild)}] < kTicksNs);
}

TEST_CASE("start: a child that begins and ends behind the end has run for nothing") {
  SampledChild child([](ChildSide& parent) {
    parent.burn_until_told();
    fork_and_reap(parent);
  });
  auto sampler = open_sampler({.frequency_hz = 199});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  wait_for([&] { return ran_ns(child.pid()) >= kPastNs; });
  // Samples are read when time has ceased to count.
  struct Late final : Taken {
    explicit Late(SampledChild& parent) : child(parent) {}
    void on_sample(const Sample& sample) override {
      Taken::on_sample(sample);
      if (raw(grandchild) != 0) return;
      child.tell();
      child.tell();
      grandchild = Pid{static_cast<std::int32_t>(child.hear())};
      wait_until_ended(grandchild);
      child.tell();
      child.hear();
    }
    SampledChild& child;
    Pid grandchild{};
  };
  Late taken(child);
  stop_and_balance(*sampler, taken);
  REQUIRE(raw(taken.grandchild) != 0);
  CHECK(taken.ends[Tid{raw(taken.grandchild)}] == 0);
}

TEST_CASE("start: no thread waits for longer than the recording lasts") {
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  skip_before_linux(6018, "lets no thread sample itself");
  auto sampler = open_sampler({.mode = SampleMode::kOffCpu});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  const std::uint64_t before = now_ns();
  REQUIRE(sampler->start());
  Taken taken;
  stop_and_balance(*sampler, taken);
  const auto span = sampler->span();
  CHECK(span.began_ns >= before);
  CHECK(span.ended_ns <= now_ns());
  REQUIRE(sampler->thread_ledgers().threads().size() == 1);
  CHECK(sampler->thread_ledgers().threads()[0].wall_ns <= span.ended_ns - span.began_ns);
  CHECK(sampler->thread_ledgers().threads()[0].wall_ns > 0);
}

TEST_CASE("start: a process that could not be added to those that wait is not recorded") {
  SampledChild child([](ChildSide& parent) {
    while (!parent.told()) usleep(1000);
  });
  skip_before_linux(6018, "lets no thread sample itself");
  SampledChild first([](ChildSide& parent) { parent.wait_until_told(); });
  auto sampler = open_sampler({.mode = SampleMode::kOffCpu});
  REQUIRE(sampler->set_process(first.pid(), {&first.recipe(), 1}));
  REQUIRE(sampler->start());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const Status status = sampler->set_running_process(child.pid());
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(status);
  // If it were recorded, it would have fifty waits by then.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Taken taken;
  stop_and_balance(*sampler, taken);
  CHECK(std::ranges::count(taken.samples, child.pid(), &TakenSample::pid) == 0);
  for (const WaitTotal& total : sampler->wait_totals()) CHECK(total.process.pid != child.pid());
}

TEST_CASE("start: what is said to be sampled, and is not, does not become so") {
  SampledChild child([](ChildSide& parent) { parent.burn_until_told(); });
  auto sampler = open_sampler({});
  const Status status = sampler->set_sampled_process(child.pid());
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kVanished);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  CHECK(sampler->set_sampled_process(child.pid()));
  REQUIRE(sampler->remove_process(child.pid()));
  CHECK_FALSE(sampler->set_sampled_process(child.pid()));
  CHECK(sampler->key_of(child.pid()).life == 0);
}

TEST_CASE("start: a child that was forked before, and waits all the time, is known") {
  const bool is_set = GENERATE(false, true);
  SampledChild child([](ChildSide& parent) { fork_when_told(parent, false); });
  skip_before_linux(6018, "lets no thread sample itself");
  auto sampler = open_sampler({.mode = SampleMode::kOffCpu});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  child.tell();
  const Pid grandchild{static_cast<std::int32_t>(child.hear())};
  wait_for([&] {
    const auto stat = read_thread_stat("/proc/" + std::to_string(raw(grandchild)) + "/stat");
    return stat && stat->state == 'S';
  });
  if (is_set) REQUIRE(sampler->set_process(grandchild, {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  stop_and_balance(*sampler, taken);
  CHECK(std::ranges::count(taken.samples, grandchild, &TakenSample::pid) == 1);
}

namespace {

// Counts samples that come on the wrong side of the mapping of some code.
class AroundMapping final : public EventHandler {
 public:
  void on_sample(const Sample& sample) override {
    if (sample.time_ns < mapped_after) (is_mapped ? wrong : before) += 1;
    if (sample.time_ns > mapped_until) (is_mapped ? behind : wrong) += 1;
  }
  void on_mapping(const MappingEvent& event) override { is_mapped |= event.start == start; }
  void on_fork(Pid, ProcessKey) override {}
  void on_exec(ProcessKey, std::string_view) override {}
  void on_exit(Pid) override {}
  void on_thread_end(ProcessKey, Tid, std::uint64_t) override {}

  Address start = 0;
  std::uint64_t mapped_after = 0;
  std::uint64_t mapped_until = 0;
  bool is_mapped = false;
  std::size_t before = 0;
  std::size_t behind = 0;
  std::size_t wrong = 0;
};

}  // namespace

TEST_CASE("start: a mapping comes between the samples between which it was made") {
  SampledChild child([](ChildSide& parent) {
    parent.burn_until_told();
    const std::uint64_t before = now_ns();
    const std::uint64_t start = map_code();
    const std::uint64_t behind = now_ns();
    for (const std::uint64_t each : {before, start, behind}) parent.say(each);
    parent.burn_until_told();
  });
  auto sampler = open_sampler({.frequency_hz = 499});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  // Nobody reads the ring meanwhile.
  const auto wait_for_more = [&] {
    const std::uint64_t known = sampler->counters().taken;
    wait_for([&] { return sampler->counters().taken >= known + 50; });
  };
  wait_for_more();
  child.tell();
  AroundMapping around;
  around.mapped_after = child.hear();
  around.start = child.hear();
  around.mapped_until = child.hear();
  wait_for_more();
  REQUIRE(sampler->stop(around));
  CHECK(around.is_mapped);
  CHECK(around.before >= 50);
  CHECK(around.behind >= 50);
  CHECK(around.wrong == 0);
}
