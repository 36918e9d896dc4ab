// A session of waits that is cut into windows, of real programs: each window adds up, and all
// together have what the kernel and the programs themselves know.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/profile/value_types.h"
#include "cli/record/session.h"
#include "labelscope/unique_fd.h"
#include "process/cpu_times.h"
#include "process/session_child.h"
#include "process/waiting_program.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

// Cuts windows of waits, and holds the accounts of each against each other.
class WaitCutter final : public SessionListener {
 public:
  void turned(std::chrono::nanoseconds elapsed) override {
    if (elapsed < std::chrono::milliseconds(100) * (cuts + 1)) return;
    ++cuts;
    if (Status cut = session->cut(); !cut) wrong("", cut.error().context);
  }
  void taken(Profile& window) override {
    const std::string name = "window " + std::to_string(windows++) + ": ";
    check_samples(name, window);
    check_threads(name, window);
    if (window.start_monotonic_ns != end_ns && end_ns != 0) wrong(name, "windows have a gap");
    end_ns = window.start_monotonic_ns + window.duration_ns;
  }
  void check_samples(const std::string& name, const Profile& window) {
    std::uint64_t weights = 0;
    std::uint64_t counts = 0;
    std::uint64_t open_ns = 0;
    in_rows_ns = 0;
    for (const SampleRow& row : window.rows) {
      weights += row.weight_ns;
      counts += row.count;
      if (is_wait(window.values[row.value])) in_rows_ns += row.weight_ns;
      if ((row.flags & LS_STILL_WAITING) == 0) continue;
      open_ns += row.weight_ns;
      if (window.values[row.value] == value_of_kind(LS_RUNNABLE))
        queued_at_cuts[raw(window.threads[row.thread].tid)] += row.weight_ns;
    }
    const Ledger& ledger = window.ledger;
    if (weights != ledger.time.attributed_ns) wrong(name, "rows have another time");
    if (counts != ledger.written) wrong(name, "rows have other samples");
    if (ledger.taken != ledger.written + ledger.dropped) wrong(name, "samples do not add up");
    if (ledger.time.waits_twice_ns != 0) wrong(name, "waits are there twice");
    if (ledger.time.waits_missing_ns != 0) wrong(name, "waits are missing");
    if (open_ns == 0) wrong(name, "no wait is open");
    samples += counts;
    if (!window.has_blame) return;
    std::uint64_t blamed_ns = 0;
    for (const BlameRow& row : window.blame) blamed_ns += row.time_ns;
    if (blamed_ns != in_rows_ns) {
      wrong(name, "blame has " + std::to_string(blamed_ns) + " of " + std::to_string(in_rows_ns));
    }
  }
  void check_threads(const std::string& name, const Profile& window) {
    const ThreadLedger sum = window.thread_ledgers.sum();
    const std::uint64_t in_ledgers_ns =
        sum.runnable_ns + sum.waiting_ns + sum.blocked_ns + sum.open_ns;
    if (in_ledgers_ns != in_rows_ns + window.ledger.time.unsampled_waits_ns) {
      wrong(name, "threads have waited for " + std::to_string(in_ledgers_ns) + ", rows have " +
                      std::to_string(in_rows_ns));
    }
    for (const ThreadLedger& thread : window.thread_ledgers.threads()) {
      // The kernel's clock of a thread that runs is a tick behind, each switch costs some time, and
      // a virtual machine does not have its processors all the time.
      const std::int64_t usual =
          std::int64_t{40'000'000} + static_cast<std::int64_t>(thread.waits) * 20'000;
      const std::int64_t residue = thread.residue_ns();
      if (residue > usual || residue < -usual) {
        wrong(name, "thread " + std::to_string(raw(thread.tid)) + " has a residue of " +
                        std::to_string(residue) + " of " + std::to_string(thread.wall_ns));
      }
      threads[raw(thread.tid)].add(thread);
    }
  }
  void wrong(const std::string& name, const std::string& what) {
    if (problem.size() < 2000) problem += "; " + name + what;
  }

  Session* session = nullptr;
  int cuts = 0;
  int windows = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t in_rows_ns = 0;
  std::uint64_t samples = 0;
  std::map<std::int32_t, ThreadLedger> threads;
  std::map<std::int32_t, std::uint64_t> queued_at_cuts;
  std::string problem;
};

std::map<std::int32_t, ThreadTime> schedstat_of(Pid pid) {
  std::map<std::int32_t, ThreadTime> all;
  if (auto times = read_thread_times(pid)) {
    for (const ThreadTime& time : *times) all.emplace(raw(time.tid), time);
  }
  return all;
}

// Holds the sum of all windows against the kernel's own accounts of the threads that were there all
// the time.
std::string record_waits(const WaitingProgram& program, SampleMode mode, bool blames) {
  constexpr std::uint64_t kTick = 20'000'000;
  constexpr std::uint64_t kFirstWait = 100'000'000;
  WaitCutter cutter;
  Signals signals;
  const LabelRules rules;
  const std::vector<std::string> blame = blames ? std::vector<std::string>{"tenant"}
                                                : std::vector<std::string>{};
  SessionOptions options = watching(program.pid());
  options.mode = mode;
  options.duration = std::chrono::milliseconds(1500);
  Session session(options, {rules, blame}, signals, cutter, {});
  cutter.session = &session;
  if (Status ready = session.prepare([](const std::string&) {}); !ready)
    return ready.error().context;
  std::string problem;
  session.run([&] {
    Status done = session.add({});
    const std::uint64_t before_ns = monotonic_ns();
    const auto before = schedstat_of(program.pid());
    if (done) done = session.start();
    if (!done) {
      problem = done.error().context;
      return 1;
    }
    const std::uint64_t started_ns = monotonic_ns();
    const auto least = schedstat_of(program.pid());
    session.sample();
    const auto most = schedstat_of(program.pid());
    const std::uint64_t stopping_ns = monotonic_ns();
    session.stop();
    const auto after = schedstat_of(program.pid());
    const std::uint64_t after_ns = monotonic_ns();
    session.take();
    std::size_t compared = 0;
    for (const auto& [tid, ledger] : cutter.threads) {
      if (!before.contains(tid) || !after.contains(tid)) continue;
      const std::string name = "; thread " + std::to_string(tid) + " ";
      const std::uint64_t waited = after.at(tid).waited_ns - before.at(tid).waited_ns;
      const std::uint64_t waited_least = most.at(tid).waited_ns - least.at(tid).waited_ns;
      // Of the first wait for a processor schedstat has all, and of the last one nothing.
      const std::uint64_t queued = ledger.runnable_ns + cutter.queued_at_cuts[tid];
      if (ledger.runnable_ns > waited + kTick || queued + kFirstWait < waited_least)
        problem += name + "was runnable for " + std::to_string(queued) + " of " +
                   std::to_string(waited);
      const std::uint64_t ran = after.at(tid).ran_ns - before.at(tid).ran_ns;
      if (ledger.cpu_ns > ran + kTick || ledger.cpu_ns + 2 * kTick < ran)
        problem += name + "ran for " + std::to_string(ledger.cpu_ns) + " of " + std::to_string(ran);
      // Accounts begin while the session starts, and end while it stops.
      const std::uint64_t wall_least = stopping_ns - started_ns;
      const std::uint64_t wall_most = after_ns - before_ns;
      if (ledger.wall_ns < wall_least || ledger.wall_ns > wall_most)
        problem += name + "existed for " + std::to_string(ledger.wall_ns) + " of " +
                   std::to_string(wall_least) + " to " + std::to_string(wall_most);
      ++compared;
    }
    if (compared < 8) problem += "; threads were " + std::to_string(compared);
    return 0;
  });
  problem += cutter.problem;
  if (cutter.cuts < 2) problem += "; windows were " + std::to_string(cutter.cuts);
  if (cutter.samples != session.recorder().samples()) problem += "; samples are missing";
  return problem;
}

// Takes what the process and its children write to their standard output from now on.
class OwnOutput {
 public:
  OwnOutput() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    input_ = UniqueFd(ends[0]);
    const UniqueFd output(ends[1]);
    before_ = UniqueFd(::dup(STDOUT_FILENO));
    ::dup2(output.get(), STDOUT_FILENO);
  }
  // Returns all of it; nobody may write any more.
  std::string end() {
    ::dup2(before_.get(), STDOUT_FILENO);
    std::string all;
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(input_.get(), bytes.data(), bytes.size())) > 0;)
      all.append(bytes.data(), static_cast<std::size_t>(got));
    return all;
  }

 private:
  UniqueFd input_;
  UniqueFd before_;
};

// What a program has said of how long its threads have waited, by their label: its last line is
// {"LABEL": NANOSECONDS, ...}.
std::map<std::string, std::uint64_t> truth_in(const std::string& output) {
  std::map<std::string, std::uint64_t> times;
  std::size_t at = output.rfind('{');
  while (at != std::string::npos && (at = output.find('"', at)) != std::string::npos) {
    const std::size_t end = output.find('"', at + 1);
    if (end == std::string::npos) break;
    times[output.substr(at + 1, end - at - 1)] =
        std::strtoull(output.c_str() + end + 2, nullptr, 10);
    at = end + 1;
  }
  return times;
}

// The time of each label in all windows.
class LabelCutter final : public SessionListener {
 public:
  void turned(std::chrono::nanoseconds elapsed) override {
    if (elapsed < std::chrono::milliseconds(100) * (cuts + 1)) return;
    ++cuts;
    if (Status cut = session->cut(); !cut) problem = cut.error().context;
  }
  void taken(Profile& window) override {
    for (const SampleRow& row : window.rows) {
      const LabelSet& labels = window.label_sets[row.label_set];
      const auto tenant = std::ranges::find(labels, "tenant", &Label::key);
      const auto turn = std::ranges::find(labels, "turn", &Label::key);
      if (turn != labels.end()) turns.insert(turn->value);
      times[tenant != labels.end() ? tenant->value : ""] += row.weight_ns;
      if ((row.flags & LS_STILL_WAITING) != 0 && tenant != labels.end())
        open[tenant->value] += row.weight_ns;
    }
    without_room += window.ledger.counters[Counter::kLabelSetsWithoutRoom];
  }

  Session* session = nullptr;
  int cuts = 0;
  std::map<std::string, std::uint64_t> times;
  std::map<std::string, std::uint64_t> open;
  std::set<std::string> turns;
  std::uint64_t without_room = 0;  // sets that have lost labels
  std::string problem;
};

// Records a command that knows for how long its threads wait, and compares.
std::string record_labels(LabelCutter& cutter, std::vector<std::string> command,
                          const std::set<std::string>& tenants) {
  OwnOutput output;
  Signals signals;
  const LabelRules rules;
  const std::vector<std::string> blame;
  SessionOptions options = watching({});
  options.wanted = {};
  options.command = std::move(command);
  options.mode = SampleMode::kOffCpu;
  options.duration.reset();
  Session session(options, {rules, blame}, signals, cutter, {});
  cutter.session = &session;
  if (Status ready = session.prepare([](const std::string&) {}); !ready)
    return ready.error().context;
  std::string problem;
  session.run([&] {
    Status done = session.add({});
    if (done) done = session.start();
    if (!done) {
      problem = done.error().context;
      return 1;
    }
    session.sample();
    session.stop();
    session.take();
    return 0;
  });
  auto truth = truth_in(output.end());
  for (const std::string& tenant : tenants) {
    const auto expected = static_cast<double>(truth[tenant]);
    const auto found = static_cast<double>(cutter.times[tenant]);
    if (expected == 0) problem += "; the program does not know of " + tenant;
    if (found < 0.95 * expected - 2e7 || found > 1.05 * expected + 2e7) {
      problem += "; " + tenant + " has waited for " + std::to_string(found / 1e6) + " of " +
                 std::to_string(expected / 1e6) + " ms";
    }
  }
  if (cutter.cuts < 1) problem += "; there was one window";
  return problem + cutter.problem;
}

}  // namespace

TEST_CASE("session_waits: windows add up to the accounts of each thread") {
  skip_without_bpf();
  skip_before_linux(6018, "lets no thread sample itself");
  const auto blames = GENERATE(false, true);
  const auto mode = GENERATE(SampleMode::kOffCpu, SampleMode::kWall);
  INFO((mode == SampleMode::kWall ? "wall" : "offcpu") << (blames ? ", blame" : ""));
  const WaitingProgram program;
  expect_nothing_wrong(in_a_child([&] { return record_waits(program, mode, blames); }));
}

TEST_CASE("session_waits: windows have the time of each label, as the program knows it") {
  skip_without_bpf();
  skip_before_linux(6018, "lets no thread sample itself");
  expect_nothing_wrong(in_a_child([] {
    LabelCutter cutter;
    std::string wrong = record_labels(
        cutter, {paths::kTimedWaits, "2"},
        {"acme", "holder", "globex", "feeder", "initech", "even", "odd", "still", "queue"});
    // It waits in all windows, and has its labels all the time.
    if (cutter.open["still"] == 0) wrong += "; nothing of a long wait has its labels";
    return wrong;
  }));
}

TEST_CASE("session_waits: ever new label sets keep their labels") {
  skip_without_bpf();
  skip_before_linux(6018, "lets no thread sample itself");
  expect_nothing_wrong(in_a_child([] {
    // There are more where the machine is not busy, and fewer in each window than have room.
    constexpr std::size_t kMany = 5'000;
    LabelCutter cutter;
    std::string wrong = record_labels(cutter, {paths::kManyWaits, "4", "160000", "20"}, {"steady"});
    if (cutter.turns.size() < kMany)
      wrong += "; label sets were " + std::to_string(cutter.turns.size());
    if (cutter.without_room != 0)
      wrong += "; sets that have lost labels: " + std::to_string(cutter.without_room);
    return wrong;
  }));
}
