// A recording without end: what it keeps does not grow, and each window is complete in itself.
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/record/recorder.h"
#include "cli/record/window_ledger.h"
#include "sources/label_codec.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
// No process has so high a number, so nothing is read of other programs.
constexpr std::int32_t kFirstNumber = 1 << 23;

// Each turn of it has a process that lives for that turn alone, with two threads, labels and
// stacks that come once, beside one process that stays.
class Churn final : public Sampler {
 public:
  static constexpr int kSamplesOfTurn = 80;

  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  Status set_before_exec(Pid, UniqueFd) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, 1}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (turns_++ == 0) return {};
    const ProcessKey key{Pid{kFirstNumber + 1 + static_cast<std::int32_t>(turns_ % 30'000)},
                         static_cast<std::uint32_t>(turns_)};
    handler.on_fork(first(), key);
    const std::string name = "job-" + std::to_string(turns_);
    handler.on_exec({key.pid, key.life + (1U << 30)}, name);
    const ProcessKey executed{key.pid, key.life + (1U << 30)};
    for (int i = 0; i < kSamplesOfTurn; ++i) {
      const bool stays = i % 4 == 0;
      Sample sample;
      sample.time_ns = now_ns_ += kMs;
      sample.process = stays ? ProcessKey{first(), 1} : executed;
      sample.tid = Tid{raw(sample.process.pid) + (stays ? 0 : i % 2)};
      sample.thread_ns = stays ? (first_ns_ += kMs) : static_cast<std::uint64_t>(i + 1) * kMs;
      sample.comm = stays ? std::string_view("stays") : std::string_view(name);
      sample.outcome = LS_LABELLED;
      std::vector<std::byte> labels;
      append_label_bytes({{"request", stays ? "same" : std::to_string(now_ns_), 0}}, labels);
      sample.label_bytes = labels;
      const std::uint64_t stack[] = {(1ULL << 63) + (stays ? 1 : now_ns_ * 16), (1ULL << 63) + 9};
      sample.stack.kernel = stack;
      handler.on_sample(sample);
      ++samples_;
    }
    for (int thread = 0; thread < 2; ++thread)
      handler.on_thread_end(executed, Tid{raw(key.pid) + thread}, kSamplesOfTurn * kMs);
    handler.on_exit(key.pid);
    return {};
  }
  Status cut(EventHandler& handler) override {
    handler.on_thread_time({first(), 1}, Tid{raw(first())}, now_ns_, first_ns_);
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override {
    Counters counters;
    counters.taken = counters.outcomes[LS_LABELLED] = samples_;
    return counters;
  }
  std::string_view event_name() const override { return "cpu-clock"; }

  static Pid first() { return Pid{kFirstNumber}; }
  std::uint64_t samples() const { return samples_; }

 private:
  std::uint64_t turns_ = 0;
  std::uint64_t now_ns_ = kMs;
  std::uint64_t first_ns_ = 0;
  std::uint64_t samples_ = 0;
};

std::size_t memory_in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

KernelClocks no_clocks() {
  KernelClocks clocks;
  clocks.process = [](Pid) { return std::nullopt; };
  clocks.stands_still = [](Pid) { return false; };
  return clocks;
}

}  // namespace

TEST_CASE("windows: memory stays what it is with ever new processes, labels and stacks") {
  const bool thorough = std::getenv("LABELSCOPE_THOROUGH") != nullptr;
  const std::uint64_t most_samples = thorough ? 10'000'000 : 800'000;
  auto owned = std::make_unique<Churn>();
  const Churn& churn = *owned;
  Recorder recorder(std::move(owned), {.period_ns = kMs, .clocks = no_clocks()});
  REQUIRE(recorder.add_before_exec(Churn::first(), UniqueFd()));
  REQUIRE(recorder.start());
  std::size_t early = 0;
  std::size_t peak = 0;
  std::uint64_t windows = 0;
  std::uint64_t counted = 0;
  std::vector<ModuleFile> files;
  while (churn.samples() < most_samples) {
    // A process that has ended is kept for a second of real time, in which many of them come here.
    for (int turn = 0; turn < 60; ++turn) REQUIRE(recorder.step(std::chrono::milliseconds(0)));
    auto window = recorder.cut(files);
    REQUIRE(window);
    counted += window->ledger.written;
    ++windows;
    REQUIRE(window->ledger.written == window->ledger.taken);
    const std::size_t used = memory_in_use();
    std::size_t& most = churn.samples() < most_samples / 2 ? early : peak;
    most = std::max(most, used);
  }
  INFO(windows << " windows; " << early << " bytes at most in the first half, " << peak
               << " later");
  CHECK(counted == churn.samples());
  // The short run is over before the first of the ended processes are let go.
  CHECK(peak < early + early / (thorough ? 10 : 2));
}

TEST_CASE("windows: each has what its rows use, and nothing else") {
  Recorder recorder(std::make_unique<Churn>(), {.period_ns = kMs, .clocks = no_clocks()});
  REQUIRE(recorder.add_before_exec(Churn::first(), UniqueFd()));
  REQUIRE(recorder.start());
  std::vector<ModuleFile> files;
  std::set<std::string> requests;
  for (int windows = 0; windows < 5; ++windows) {
    for (int turn = 0; turn < 3; ++turn) REQUIRE(recorder.step(std::chrono::milliseconds(0)));
    auto window = recorder.cut(files);
    REQUIRE(window);
    // Three jobs with 60 requests each, and the process that stays.
    CHECK(window->processes.size() == 4);
    CHECK(window->threads.size() == 7);
    CHECK(window->label_sets.size() == 181);
    CHECK(window->stacks.size() == 181);
    CHECK(window->modules.size() == 1);
    CHECK(files.size() == 1);
    std::set<std::string> names;
    for (const Process& process : window->processes) names.insert(process.comm);
    CHECK(names.size() == 4);
    for (const SampleRow& row : window->rows) {
      REQUIRE(row.thread < window->threads.size());
      REQUIRE(row.stack < window->stacks.size());
      const LabelSet& labels = window->label_sets.at(row.label_set);
      REQUIRE(labels.size() == 1);
      const std::string& name = window->threads[row.thread].name;
      CHECK((labels[0].value == "same") == (name == "stays"));
      if (labels[0].value != "same") CHECK(requests.insert(labels[0].value).second);
    }
  }
}

TEST_CASE("windows: names are found once") {
  Recorder recorder(std::make_unique<Churn>(), {.period_ns = kMs, .clocks = no_clocks()});
  REQUIRE(recorder.add_before_exec(Churn::first(), UniqueFd()));
  REQUIRE(recorder.start());
  std::vector<ModuleFile> files;
  for (int windows = 0; windows < 3; ++windows) {
    for (int turn = 0; turn < 3; ++turn) REQUIRE(recorder.step(std::chrono::milliseconds(0)));
    auto window = recorder.cut(files);
    REQUIRE(window);
    std::size_t known = 0;
    for (Location& location : window->locations) {
      known += location.was_named ? 1 : 0;
      if (location.was_named) CHECK(location.lines.at(0).function == "named");
      location.was_named = true;
      location.lines = {{"named", {}, {}, 0}};
    }
    // The two places of the process that stays, of which the others have one.
    CHECK(known == (windows == 0 ? 0 : 2));
    CHECK(window->modules[0].why_nameless == (windows == 0 ? "" : "no table"));
    window->modules[0].why_nameless = "no table";
    recorder.keep_names(*window);
  }
}

TEST_CASE("windows: a sample that is on its way counts with its row") {
  WindowLedger ledger;
  Counters counters;
  counters.taken = 5;
  counters.outcomes[LS_LABELLED] = 3;
  counters.outcomes[LS_UNLABELLED] = 2;
  counters.pending = 0;
  for (int i = 0; i < 2; ++i) ledger.note(LS_LABELLED);
  ledger.note(LS_UNLABELLED);
  const Counters first = ledger.without_those_on_their_way(counters);
  CHECK(first.taken == 3);
  CHECK(first.outcomes[LS_LABELLED] == 2);
  CHECK(first.outcomes[LS_UNLABELLED] == 1);
  // One of the two was dropped, and the other comes.
  counters.dropped = 1;
  ledger.note(LS_UNLABELLED);
  const Counters second = ledger.without_those_on_their_way(counters);
  CHECK(second.taken == 5);
  CHECK(second.dropped == 1);
  CHECK(second.outcomes[LS_LABELLED] == 3);
  CHECK(second.outcomes[LS_UNLABELLED] == 2);
}

TEST_CASE("windows: a ledger has what came since the last one") {
  WindowLedger ledger;
  Ledger sums;
  sums.taken = 10;
  sums.written = 9;
  sums.dropped = 1;
  sums.outcomes[LS_LABELLED] = 10;
  sums.counters[Counter::kFpFrames] = 7;
  CHECK(ledger.cut(sums).taken == 10);
  sums.taken = 15;
  sums.written = 14;
  sums.outcomes[LS_LABELLED] = 15;
  sums.counters[Counter::kFpFrames] = 8;
  const Ledger window = ledger.cut(sums);
  CHECK(window.taken == 5);
  CHECK(window.written == 5);
  CHECK(window.dropped == 0);
  CHECK(window.outcomes[LS_LABELLED] == 5);
  CHECK(window.counters[Counter::kFpFrames] == 1);
}
