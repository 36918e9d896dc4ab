// Made-up recordings: a machine of which everything is known runs processes that fork, execute
// other programs, make threads and end, with numbers that come again. The recorder gets what a
// sampler would report of them, with losses and delays by chance. Whatever comes, the sums must
// hold: rows against the ledger, and the ledger against the machine's own account of the time.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli/format/common/ledger_text.h"
#include "cli/record/recorder.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kPeriod = 10 * kMs;
constexpr std::uint64_t kStretch = 80 * kMs;  // TimeAccounts
constexpr int kProcessors = 3;
// No process has so high a number, so nothing is read of other programs.
constexpr std::int32_t kFirstNumber = 1 << 23;

// What goes wrong in a recording.
struct Faults {
  double sample_dropped = 0;
  double sample_late = 0;
  double fork_lost = 0;
  double end_late = 0;      // found no room in the ring: it is reported at the stop
  double end_lost = 0;      // and that has no room either
  double exit_unread = 0;   // the process is gone when its exit is read
  std::size_t room = 64;    // for processes; others are not followed
  bool is_command = false;  // wait4() reports the time of all
  double cut = 0;           // after each turn
};

// A thread of the machine, also after its end.
struct SimThread {
  Tid tid{};
  std::uint64_t ran_ns = 0;
  std::uint64_t last_sample_ns = 0;  // that was reported; of ran_ns
  bool has_ended = false;
  double appetite = 1;
};

struct SimProcess {
  Pid pid{};
  std::uint32_t life = 0;
  ProcessKey key() const { return {pid, life}; }
  bool is_recorded = true;
  bool has_ended = false;
  bool was_reaped = false;
  bool has_reported = false;    // some record of it has reached the recorder
  std::uint64_t before_ns = 0;  // what it had run when it was added
  std::uint64_t ran_ns = 0;     // all its threads
  std::vector<SimThread> threads;
};

// What the machine knows, to compare with.
struct Truth {
  std::uint64_t recorded_ns = 0;
  // Behind the last reports of threads whose ends were lost. If another thread has such a number
  // soon after, its first moments are taken for the first one's.
  std::uint64_t unknowable_ns = 0;
  std::uint64_t strangers_ns = 0;
  std::uint64_t lost_ns = 0;
  std::uint64_t delivered = 0;
};

class Machine final : public Sampler {
 public:
  Machine(std::uint64_t seed, const Faults& faults) : random_(seed), faults_(faults) {
    processes_.push_back(new_process());
    SimProcess& first = processes_.front();
    // It has run before.
    first.ran_ns = first.before_ns = below(500) * kMs;
  }

  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status set_before_exec(Pid, UniqueFd) override { return {}; }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override {
    const SimProcess* process = youngest(pid);
    return process == nullptr ? ProcessKey{pid} : process->key();
  }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds timeout) override {
    handler_ = &handler;
    for (std::int64_t i = 0; i < timeout.count(); ++i) run_a_millisecond();
    return {};
  }
  Status stop(EventHandler& handler) override {
    handler_ = &handler;
    while (!late_.empty()) report_late(0);
    for (const End& end : ends_) {
      if (!chance(faults_.end_lost)) {
        report_end(end);
        continue;
      }
      truth_.lost_ns += end.ran_ns;
      truth_.unknowable_ns += end.ran_ns - end.last_sample_ns + kStretch;
    }
    for (SimProcess& process : processes_) {
      if (process.has_ended || !process.is_recorded) continue;
      for (const SimThread& thread : process.threads) {
        if (!thread.has_ended) handler_->on_thread_end(process.key(), thread.tid, thread.ran_ns);
      }
    }
    return {};
  }
  Status cut(EventHandler& handler) override {
    handler_ = &handler;
    for (const End& end : std::exchange(ends_, {})) report_end(end);
    for (SimProcess& process : processes_) {
      if (process.has_ended || !process.is_recorded) continue;
      for (const SimThread& thread : process.threads) {
        if (!thread.has_ended)
          handler_->on_thread_time(process.key(), thread.tid, now_ + taken_, thread.ran_ns);
      }
    }
    return {};
  }
  Counters counters() const override {
    Counters counters;
    counters.taken = taken_;
    counters.outcomes[LS_UNLABELLED] = taken_;
    counters.dropped = dropped_;
    counters.lost_thread_ns = truth_.lost_ns;
    counters.others[Counter::kChildrenNotFollowed] = not_followed_;
    return counters;
  }
  std::string_view event_name() const override { return "cpu-clock"; }

  KernelClocks clocks() {
    return {.process = [this](Pid pid) { return read(pid); },
            .stands_still =
                [this](Pid pid) {
                  const SimProcess* process = youngest(pid);
                  return process != nullptr && process->has_ended;
                },
            .processors = [this] { return now_ * kProcessors; }};
  }
  Pid first() const { return processes_.front().pid; }
  Truth truth() const {
    Truth truth = truth_;
    for (const SimProcess& process : processes_) {
      (process.is_recorded ? truth.recorded_ns : truth.strangers_ns) +=
          process.ran_ns - process.before_ns;
    }
    return truth;
  }
  std::uint64_t time_of(Pid pid) const {
    std::uint64_t sum = 0;
    for (const SimProcess& process : processes_) {
      if (process.pid == pid) sum += process.ran_ns - process.before_ns;
    }
    return sum;
  }
  // What processes with less time than a stretch have together: they share an account.
  std::uint64_t time_of_short() const {
    std::uint64_t sum = 0;
    for (const SimProcess& process : processes_) sum += std::min(process.ran_ns, kStretch);
    return sum;
  }

 private:
  struct End {
    ProcessKey process;
    Tid tid{};
    std::uint64_t ran_ns = 0;
    std::uint64_t last_sample_ns = 0;
  };
  struct Late {
    ProcessKey process;
    Tid tid{};
    std::uint64_t time_ns = 0;
    std::uint64_t thread_ns = 0;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(double likely) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < likely;
  }

  // Numbers are few, so they come again soon.
  std::int32_t new_number() {
    for (;;) {
      const auto number = static_cast<std::int32_t>(kFirstNumber + below(200));
      if (!std::ranges::any_of(processes_, [&](const SimProcess& process) {
            return !process.was_reaped &&
                   (raw(process.pid) == number ||
                    std::ranges::any_of(process.threads, [&](const SimThread& thread) {
                      return !thread.has_ended && raw(thread.tid) == number;
                    }));
          })) {
        forget_end(Tid{number});
        return number;
      }
    }
  }
  // The sampler reports no end of a thread whose number another one has by then (ThreadClocks).
  void forget_end(Tid tid) {
    std::erase_if(ends_, [&](const End& end) {
      if (end.tid != tid) return false;
      truth_.unknowable_ns += end.ran_ns - end.last_sample_ns + kStretch;
      return true;
    });
  }
  SimProcess new_process() {
    SimProcess process;
    const std::int32_t number = new_number();
    process.pid = Pid{number};
    process.life = ++lives_;
    process.threads.push_back({.tid = Tid{number}, .appetite = appetite()});
    return process;
  }
  // Some threads compute all the time, and others for moments.
  double appetite() { return chance(0.5) ? 1 : 0.02; }

  // The youngest process of this number is meant.
  const SimProcess* youngest(Pid pid) const {
    const auto found = std::find_if(processes_.rbegin(), processes_.rend(),
                                    [&](const SimProcess& process) { return process.pid == pid; });
    return found == processes_.rend() || found->was_reaped ? nullptr : &*found;
  }
  std::optional<std::uint64_t> read(Pid pid) const {
    const SimProcess* process = youngest(pid);
    return process == nullptr ? std::nullopt : std::optional(process->ran_ns);
  }

  void run_a_millisecond() {
    now_ += kMs;
    // This many threads get a processor.
    for (int processor = 0; processor < kProcessors; ++processor) {
      SimProcess* process = pick();
      if (process == nullptr) break;
      SimThread* thread = pick(*process);
      if (thread == nullptr || !chance(thread->appetite)) continue;
      const std::uint64_t ran = chance(0.3) ? below(kMs) : kMs;
      thread->ran_ns += ran;
      process->ran_ns += ran;
      if (process->is_recorded && below(kPeriod) < ran) take_sample(*process, *thread);
    }
    if (chance(0.05)) change_something();
    while (!late_.empty() && chance(0.1)) report_late(below(late_.size()));
  }
  SimProcess* pick() {
    std::vector<SimProcess*> alive;
    for (SimProcess& process : processes_) {
      if (!process.has_ended) alive.push_back(&process);
    }
    return alive.empty() ? nullptr : alive[below(alive.size())];
  }
  SimThread* pick(SimProcess& process) {
    std::vector<SimThread*> alive;
    for (SimThread& thread : process.threads) {
      if (!thread.has_ended) alive.push_back(&thread);
    }
    return alive.empty() ? nullptr : alive[below(alive.size())];
  }

  void take_sample(SimProcess& process, SimThread& thread) {
    ++taken_;
    if (chance(faults_.sample_dropped)) {
      ++dropped_;
      return;
    }
    const Late sample{process.key(), thread.tid, now_ + taken_, thread.ran_ns};
    thread.last_sample_ns = thread.ran_ns;
    process.has_reported = true;
    if (chance(faults_.sample_late)) {
      late_.push_back(sample);
    } else {
      report(sample);
    }
  }
  void report(const Late& late) {
    Sample sample;
    sample.time_ns = late.time_ns;
    sample.thread_ns = late.thread_ns;
    sample.process = late.process;
    sample.tid = late.tid;
    sample.comm = "made-up";
    ++truth_.delivered;
    handler_->on_sample(sample);
  }
  void report_late(std::size_t which) {
    const Late sample = late_[which];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
    report(sample);
  }
  // Before the end of a thread, its samples are given up, in their order.
  void give_up(Tid tid) {
    for (std::size_t i = 0; i < late_.size();) {
      if (late_[i].tid == tid) {
        report_late(i);
      } else {
        ++i;
      }
    }
  }
  void report_end(const End& end) { handler_->on_thread_end(end.process, end.tid, end.ran_ns); }

  void change_something() {
    SimProcess* process = pick();
    if (process == nullptr) return;
    const std::uint64_t what = below(10);
    if (what < 3) {
      fork(*process);
    } else if (what < 6) {
      process->threads.push_back({.tid = Tid{new_number()}, .appetite = appetite()});
    } else if (what < 8) {
      if (SimThread* thread = pick(*process); thread != nullptr && thread != &process->threads[0]) {
        end(*process, *thread);
      }
    } else if (what < 9) {
      execute(*process);
    } else if (process->pid != first()) {
      exit(*process);
    }
  }
  void fork(SimProcess& parent) {
    // Reference and index: the vector grows.
    const bool follows = parent.is_recorded;
    const Pid parent_pid = parent.pid;
    SimProcess child = new_process();
    child.is_recorded = follows && recorded_ < faults_.room;
    if (follows && !child.is_recorded) ++not_followed_;
    if (child.is_recorded) {
      ++recorded_;
      if (!chance(faults_.fork_lost)) {
        handler_->on_fork(parent_pid, child.key());
        child.has_reported = true;
      }
    }
    processes_.push_back(std::move(child));
  }
  void end(SimProcess& process, SimThread& thread) {
    thread.has_ended = true;
    if (!process.is_recorded) return;
    give_up(thread.tid);
    const End end{process.key(), thread.tid, thread.ran_ns, thread.last_sample_ns};
    if (chance(faults_.end_late)) {
      ends_.push_back(end);
    } else {
      report_end(end);
    }
  }
  void execute(SimProcess& process) {
    for (std::size_t i = 1; i < process.threads.size(); ++i) {
      if (!process.threads[i].has_ended) end(process, process.threads[i]);
    }
    process.life = ++lives_;
    if (process.is_recorded) handler_->on_exec(process.key(), {});
  }
  void exit(SimProcess& process) {
    process.has_ended = true;
    process.was_reaped = chance(faults_.exit_unread);
    if (process.is_recorded) {
      --recorded_;
      handler_->on_exit(process.pid);
    }
    for (SimThread& thread : process.threads) {
      if (!thread.has_ended) end(process, thread);
    }
    process.was_reaped = true;
  }

  std::mt19937_64 random_;
  Faults faults_;
  EventHandler* handler_ = nullptr;
  std::uint64_t now_ = kMs;
  std::deque<SimProcess> processes_;
  std::uint32_t lives_ = 0;
  std::vector<Late> late_;
  std::vector<End> ends_;
  std::uint64_t taken_ = 0;
  std::uint64_t dropped_ = 0;
  std::size_t recorded_ = 1;
  std::uint64_t not_followed_ = 0;
  Truth truth_;
};

struct Recorded {
  Profile profile;  // the last window
  Truth truth;
  // Of all windows.
  TimeLedger time;
  std::uint64_t samples = 0;
  std::map<Pid, std::uint64_t> counts;  // by process number
};

// What each window has by itself. Adds it to the sums.
void add_window(const Profile& window, Recorded& all) {
  std::uint64_t weights = 0;
  std::uint64_t counts = 0;
  for (const SampleRow& row : window.rows) {
    weights += row.weight_ns;
    counts += row.count;
    REQUIRE(row.thread < window.threads.size());
    REQUIRE(row.stack < window.stacks.size());
    REQUIRE(row.label_set < window.label_sets.size());
    REQUIRE(window.threads[row.thread].process < window.processes.size());
    CHECK(window.threads[row.thread].name == "made-up");
    all.counts[window.pid_of(window.threads[row.thread])] += row.count;
  }
  const Ledger& ledger = window.ledger;
  CHECK(weights == ledger.time.attributed_ns);
  CHECK(counts == ledger.written);
  CHECK(ledger.taken == ledger.written + ledger.dropped);
  CHECK(ledger.taken == ledger.outcomes[LS_UNLABELLED]);
  all.samples += counts;
  all.time.attributed_ns += ledger.time.attributed_ns;
  all.time.unsampled_ns += ledger.time.unsampled_ns;
  all.time.lost_ns += ledger.time.lost_ns;
  all.time.twice_ns += ledger.time.twice_ns;
  all.time.missing_ns += ledger.time.missing_ns;
}

// Records the machine with this seed, and checks what holds for each recording.
Recorded record(std::uint64_t seed, const Faults& faults) {
  auto owned = std::make_unique<Machine>(seed, faults);
  Machine& machine = *owned;
  std::mt19937_64 random(seed);
  Recorder recorder(
      std::move(owned),
      {.timed_samples = random() % 40, .period_ns = kPeriod, .clocks = machine.clocks()});
  REQUIRE(recorder.add_before_exec(machine.first(), UniqueFd()));
  REQUIRE(recorder.start());
  Recorded all;
  std::mt19937_64 cuts(seed);
  std::vector<ModuleFile> files;
  for (std::uint64_t turns = 1 + random() % 20; turns > 0; --turns) {
    REQUIRE(recorder.step(std::chrono::milliseconds(random() % 150)));
    if (std::uniform_real_distribution<double>(0, 1)(cuts) >= faults.cut) continue;
    auto window = recorder.cut(files);
    REQUIRE(window);
    INFO("seed " << seed << ", a window");
    CHECK(files.size() == window->modules.size());
    add_window(*window, all);
  }
  REQUIRE(recorder.stop());
  const Truth truth = all.truth = machine.truth();
  all.profile =
      recorder.take_profile(files, faults.is_command ? truth.recorded_ns + truth.strangers_ns : 0);
  add_window(all.profile, all);
  const TimeLedger& time = all.time;
  INFO("seed " << seed << ": " << time.attributed_ns << " attributed, " << time.unsampled_ns
               << " unsampled, " << time.lost_ns << " lost, " << time.twice_ns << " twice, "
               << time.missing_ns << " missing; true are " << truth.recorded_ns << " and "
               << truth.strangers_ns << " of strangers, " << truth.lost_ns << " lost, "
               << truth.unknowable_ns << " unknowable");
  CHECK(all.samples == truth.delivered);
  if (time.attributed_ns == 0) return all;
  // Where no clock has moved, samples stand for periods; all else is by the machine's account.
  const std::uint64_t possible = truth.recorded_ns + (faults.is_command ? truth.strangers_ns : 0);
  CHECK(time.attributed_ns + time.unsampled_ns <= possible);
  CHECK(time.whole() <= possible + truth.lost_ns);
  CHECK(time.whole() + truth.unknowable_ns >= truth.recorded_ns);
  // A process whose fork was lost, under the number of one that has ended, has no clock.
  if (faults.fork_lost == 0) CHECK(time.twice_ns == 0);
  if (faults.cut != 0) return all;
  // A process has its own time, and a part of what short ones share.
  std::map<Pid, std::uint64_t> by_process;
  for (const SampleRow& row : all.profile.rows)
    by_process[all.profile.pid_of(all.profile.threads[row.thread])] += row.weight_ns;
  for (const auto& [pid, weight] : by_process) {
    INFO("process " << raw(pid));
    CHECK(weight <= machine.time_of(pid) + machine.time_of_short());
  }
  return all;
}

// The number of streams of each kind.
std::uint64_t streams() { return std::getenv("LABELSCOPE_THOROUGH") != nullptr ? 10'000 : 400; }

}  // namespace

TEST_CASE("account streams: without losses, the ledger is the machine's account") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    const bool is_command = seed % 2 == 0;
    const Recorded all = record(seed, {.is_command = is_command});
    const TimeLedger& time = all.profile.ledger.time;
    if (time.attributed_ns == 0) continue;
    INFO("seed " << seed);
    CHECK(time.whole() == all.truth.recorded_ns);
    CHECK(time.lost_ns == 0);
    CHECK(time.missing_ns == 0);
  }
}

TEST_CASE("account streams: dropped and late samples take no time away, and add none") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    const Recorded all = record(seed, {.sample_dropped = 0.2, .sample_late = 0.3});
    const TimeLedger& time = all.profile.ledger.time;
    if (time.attributed_ns == 0) continue;
    INFO("seed " << seed);
    CHECK(time.whole() == all.truth.recorded_ns);
  }
}

TEST_CASE("account streams: lost forks, ends and exits") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    record(seed, {.sample_dropped = 0.2,
                  .sample_late = 0.2,
                  .fork_lost = seed % 3 == 0 ? 0.3 : 0,
                  .end_late = 0.3,
                  .end_lost = 0.2,
                  .exit_unread = 0.5,
                  .is_command = seed % 2 == 0});
  }
}

TEST_CASE("account streams: the time of processes that were not followed is nobody else's") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    const Recorded all = record(seed, {.room = 2, .is_command = true});
    const TimeLedger& time = all.profile.ledger.time;
    if (time.attributed_ns == 0) continue;
    INFO("seed " << seed);
    CHECK(time.whole() == all.truth.recorded_ns + all.truth.strangers_ns);
    CHECK(time.missing_ns == all.truth.strangers_ns);
    CHECK(time.attributed_ns <= all.truth.recorded_ns);
  }
}

// The same machine is recorded twice, and cut in one of the recordings.
TEST_CASE("account streams: windows add up to the recording that was not cut") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    const bool is_command = seed % 2 == 0;
    const Recorded whole = record(seed, {.is_command = is_command});
    const Recorded cut = record(seed, {.is_command = is_command, .cut = seed % 3 == 0 ? 1 : 0.3});
    INFO("seed " << seed);
    CHECK(cut.samples == whole.samples);
    CHECK(cut.counts == whole.counts);
    if (whole.time.attributed_ns == 0 || cut.time.attributed_ns == 0) continue;
    CHECK(cut.time.whole() == whole.truth.recorded_ns);
    CHECK(cut.time.lost_ns == 0);
    CHECK(cut.time.missing_ns == 0);
  }
}

TEST_CASE("account streams: windows of a recording with losses add up, too") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    record(seed, {.sample_dropped = 0.2,
                  .sample_late = 0.3,
                  .end_late = 0.3,
                  .end_lost = 0.2,
                  .exit_unread = 0.5,
                  .is_command = seed % 2 == 0,
                  .cut = 0.4});
  }
}
