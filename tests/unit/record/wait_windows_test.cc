// A recording of waits without end, with ever new label sets: what it keeps does not grow, and no
// label gets lost.
#include <malloc.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/wait_reason.h"
#include "cli/record/recorder.h"
#include "sources/label_codec.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr ls_sample_kind kWaits[] = {LS_WAITING, LS_RUNNABLE, LS_UNINTERRUPTIBLE};
constexpr std::uint64_t kMs = 1'000'000;
// No process has so high a number, so nothing is read of other programs.
constexpr Pid kFirst{1 << 23};

// One process, each of whose windows has waits under numbers that come once, and under those that
// the test wants. It names a number as the kernel does: if it has not, or has forgotten it.
class WaitsOfRequests final : public Sampler {
 public:
  static constexpr std::uint64_t kOfWindow = 400;
  static constexpr std::uint64_t kNumber = 1000;

  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status remove_process(Pid) override { return {}; }
  Status set_before_exec(Pid, UniqueFd) override { return {}; }
  ProcessKey key_of(Pid pid) const override { return {pid, 1}; }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (windows_ == 0 && !was_called_) {
      was_called_ = true;  // it is start() that calls it
      return {};
    }
    for (std::uint64_t i = 0; i < kOfWindow; ++i) wait(handler, kNumber + next_++);
    for (const std::uint64_t number : often) wait(handler, number);
    return {};
  }
  Status cut(EventHandler& handler) override {
    ++windows_;
    handler.on_waits(totals_, {});
    totals_.clear();
    for (const std::uint64_t number : open) {
      Sample sample;
      sample.time_ns = windows_ * kMs;
      sample.kind = LS_WAITING;
      sample.weight_ns = kMs;
      sample.system_call = SYS_read;
      sample.process = {kFirst, 1};
      sample.tid = Tid{raw(kFirst)};
      sample.outcome = LS_LABELLED;
      sample.flags = LS_STILL_WAITING;
      sample.label_number = number;
      handler.on_sample(sample);
      ++open_count_;
    }
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  std::vector<std::uint64_t> label_numbers_in_use() const override {
    return {in_use.begin(), in_use.end()};
  }
  void forget_label_numbers(std::span<const std::uint64_t> numbers) override {
    for (const std::uint64_t number : numbers) named_.erase(number);
    forgotten.assign(numbers.begin(), numbers.end());
  }
  Counters counters() const override {
    Counters counters;
    counters.taken = counters.outcomes[LS_LABELLED] = open_count_;
    return counters;
  }
  std::string_view event_name() const override { return "waits"; }

  // A wait that began before the kernel has forgotten its number names nothing.
  void wait(EventHandler& handler, std::uint64_t number) {
    if (named_.insert(number).second) name(handler, number);
    wait_unnamed(number);
  }
  void wait_unnamed(std::uint64_t number) {
    WaitTotal total;
    total.process = {kFirst, 1};
    total.system_call = SYS_read;
    total.labels = number;
    total.time_ns = 10;
    total.count = 1;
    total.lengths[0] = 1;
    totals_.push_back(total);
  }
  void name(EventHandler& handler, std::uint64_t number) {
    std::vector<std::byte> labels;
    append_label_bytes({{"request", std::to_string(number), 0}}, labels);
    handler.on_label_set({kFirst, 1}, number, labels, false);
    ++times_named[number];
  }

  std::set<std::uint64_t> often{};
  std::set<std::uint64_t> open{};
  std::set<std::uint64_t> in_use{};
  std::vector<std::uint64_t> forgotten{};
  std::map<std::uint64_t, int> times_named{};
  std::uint64_t next() const { return next_; }

 private:
  bool was_called_ = false;
  std::uint64_t windows_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t open_count_ = 0;
  std::set<std::uint64_t> named_;
  std::vector<WaitTotal> totals_;
};

struct Recording {
  Recording() {
    auto owned = std::make_unique<WaitsOfRequests>();
    sampler = owned.get();
    KernelClocks clocks;
    clocks.process = [](Pid) { return std::nullopt; };
    clocks.stands_still = [](Pid) { return false; };
    recorder = std::make_unique<Recorder>(
        std::move(owned), Recorder::Options{.kinds = kWaits, .period_ns = kMs, .clocks = clocks});
    REQUIRE(recorder->add_before_exec(kFirst, UniqueFd()));
    REQUIRE(recorder->start());
  }
  Profile window() {
    REQUIRE(recorder->step(std::chrono::milliseconds(0)));
    auto window = recorder->cut(files);
    REQUIRE(window);
    return *std::move(window);
  }
  WaitsOfRequests* sampler = nullptr;
  std::unique_ptr<Recorder> recorder;
  std::vector<ModuleFile> files;
};

// The time of each request, and under "?" that of unknown ones.
std::map<std::string, std::uint64_t> times_of(const Profile& window) {
  std::map<std::string, std::uint64_t> times;
  for (const SampleRow& row : window.rows) {
    const LabelSet& labels = window.label_sets.at(row.label_set);
    const auto request = std::ranges::find(labels, "request", &Label::key);
    times[request == labels.end() ? "?" : request->value] += row.weight_ns;
  }
  return times;
}

std::size_t heap_in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace

TEST_CASE("wait_windows: memory stays what it is with ever new label sets, and none loses a label") {
  const bool thorough = std::getenv("LABELSCOPE_THOROUGH") != nullptr;
  const std::uint64_t most = thorough ? 2'000'000 : 200'000;
  Recording of;
  std::size_t early = 0;
  std::size_t late = 0;
  while (of.sampler->next() < most) {
    const Profile window = of.window();
    const auto times = times_of(window);
    REQUIRE(times.size() == WaitsOfRequests::kOfWindow);
    REQUIRE_FALSE(times.contains("?"));
    REQUIRE(window.ledger.time.whole() == 10 * WaitsOfRequests::kOfWindow);
    REQUIRE(window.ledger.counters[Counter::kLabelSetsWithoutRoom] == 0);
    of.sampler->times_named.clear();
    std::size_t& peak = of.sampler->next() < most / 2 ? early : late;
    peak = std::max(peak, heap_in_use());
  }
  INFO(early << " bytes at most in the first half, " << late << " later");
  CHECK(late < early + early / 10);
}

TEST_CASE("wait_windows: a number that was not used for long is named again, and means the same") {
  Recording of;
  of.sampler->often = {700};
  CHECK(times_of(of.window())["700"] == 10);
  of.sampler->often.clear();
  bool was_forgotten = false;
  for (int i = 0; i < 30; ++i) {
    CHECK_FALSE(times_of(of.window()).contains("700"));
    if (std::ranges::find(of.sampler->forgotten, 700U) == of.sampler->forgotten.end()) continue;
    CHECK_FALSE(was_forgotten);
    was_forgotten = true;
  }
  CHECK(was_forgotten);
  of.sampler->often = {700};
  CHECK(times_of(of.window())["700"] == 10);
  CHECK(of.sampler->times_named[700] == 2);
}

TEST_CASE("wait_windows: a wait that began before the kernel forgot its number has its labels") {
  Recording of;
  of.sampler->often = {700};
  static_cast<void>(of.window());
  of.sampler->often.clear();
  while (std::ranges::find(of.sampler->forgotten, 700U) == of.sampler->forgotten.end())
    static_cast<void>(of.window());
  of.sampler->wait_unnamed(700);
  CHECK(times_of(of.window())["700"] == 10);
  CHECK(of.sampler->times_named[700] == 1);
  for (int i = 0; i < 20; ++i) static_cast<void>(of.window());
}

TEST_CASE("wait_windows: the number of a wait that is open for long is never forgotten") {
  Recording of;
  of.sampler->often = {700, 800};
  of.sampler->in_use = {800};
  static_cast<void>(of.window());
  of.sampler->often.clear();
  of.sampler->open = {700};
  for (int i = 0; i < 40; ++i) {
    auto times = times_of(of.window());
    CHECK(times["700"] == kMs);
    CHECK_FALSE(times.contains("?"));
    CHECK(std::ranges::find(of.sampler->forgotten, 700U) == of.sampler->forgotten.end());
    CHECK(std::ranges::find(of.sampler->forgotten, 800U) == of.sampler->forgotten.end());
  }
  of.sampler->wait_unnamed(800);
  CHECK(times_of(of.window())["800"] == 10);
}

TEST_CASE("wait_windows: an open wait whose number nobody knows is one of lost labels") {
  Recording of;
  of.sampler->open = {900};
  const Profile window = of.window();
  CHECK(times_of(window)["?"] == kMs);
  CHECK(window.ledger.outcomes[LS_UNREADABLE_LOST] == 1);
  CHECK(window.ledger.outcomes[LS_LABELLED] == 0);
  CHECK(window.ledger.written == 1);
}
