// Measures what labels cost the program that sets them: the writer library is compared with the
// algorithm of the existing writer, and with the least that publishing can cost.
//
//  bench_writer [--benchmark_...]
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "aims.h"
#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "customlabels/pprof.hpp"
#include "customlabels/thread_context.h"
#include "push_writer.h"
#include "runner.h"

namespace labelscope::bench {
namespace {

// This is long enough for a stable mean of calls that take nanoseconds.
constexpr double kMinSeconds = 0.02;

// Keys and values of 24 bytes.
constexpr std::size_t kTextLength = 24;
constexpr std::size_t kMostLabels = CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS;

custom_labels_string_t raw(const std::string& text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

std::string text(const std::string& start, std::size_t number) {
  std::string all = start + std::to_string(number);
  all.resize(kTextLength, '.');
  return all;
}

const std::array<std::string, kMostLabels> kKeys = [] {
  std::array<std::string, kMostLabels> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = text("key number ", i);
  return keys;
}();
// Values of one length take turns, so that each call changes something.
const std::array<std::string, 4> kValues = {text("value ", 0), text("value ", 1), text("value ", 2),
                                            text("value ", 3)};
const std::array<std::string, 2> kScopeKeys = {text("scope key ", 0), text("scope key ", 1)};

const std::array<custom_labels_label_t, 2> kScopeLabels = {
    {{raw(kScopeKeys[0]), raw(kValues[0])}, {raw(kScopeKeys[1]), raw(kValues[1])}}};

void* nothing(void* argument) { return argument; }

// ---- the calling thread's labels, `count` of them

struct OwnLabels {
  explicit OwnLabels(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) customlabels::set(kKeys[i], kValues[0]);
  }
  ~OwnLabels() { customlabels::clear(); }
  OwnLabels(const OwnLabels&) = delete;
  OwnLabels& operator=(const OwnLabels&) = delete;
};

struct InstalledSet {
  explicit InstalledSet(std::size_t count) : set(custom_labels_new(count)) {
    for (std::size_t i = 0; i < count; ++i)
      custom_labels_set(set, raw(kKeys[i]), raw(kValues[0]), nullptr);
    custom_labels_replace(set);
  }
  ~InstalledSet() {
    custom_labels_replace(nullptr);
    custom_labels_free(set);
  }
  InstalledSet(const InstalledSet&) = delete;
  InstalledSet& operator=(const InstalledSet&) = delete;
  custom_labels_labelset_t* set;
};

struct PushedSet {
  explicit PushedSet(std::size_t count) : set(push_new(count)) {
    for (std::size_t i = 0; i < count; ++i) push_set(set, raw(kKeys[i]), raw(kValues[0]), nullptr);
    push_replace(set);
  }
  ~PushedSet() {
    push_replace(nullptr);
    push_free(set);
  }
  PushedSet(const PushedSet&) = delete;
  PushedSet& operator=(const PushedSet&) = delete;
  custom_labels_labelset_t* set;
};

// Which key the i-th call changes: always the first, like a program that labels its current work,
// or each in turn.
enum class Keys { kOne, kInTurn };
std::size_t key_index(Keys keys, std::size_t call, std::size_t count) {
  return keys == Keys::kOne ? 0 : call % count;
}

template <Keys keys>
void replace_ours(benchmark::State& state, std::size_t count) {
  const OwnLabels labels(count);
  std::size_t i = 0;
  for (auto _ : state) {
    customlabels::set(kKeys[key_index(keys, i, count)], kValues[i % kValues.size()]);
    ++i;
  }
}

template <Keys keys>
void replace_in_set(benchmark::State& state, std::size_t count) {
  const InstalledSet labels(count);
  std::size_t i = 0;
  for (auto _ : state) {
    custom_labels_set(labels.set, raw(kKeys[key_index(keys, i, count)]),
                      raw(kValues[i % kValues.size()]), nullptr);
    ++i;
  }
}

template <Keys keys>
void replace_pushed(benchmark::State& state, std::size_t count) {
  const PushedSet labels(count);
  std::size_t i = 0;
  for (auto _ : state) {
    push_set(labels.set, raw(kKeys[key_index(keys, i, count)]), raw(kValues[i % kValues.size()]),
             nullptr);
    ++i;
  }
}

void scope_ours(benchmark::State& state, std::size_t count) {
  const OwnLabels labels(count);
  for (auto _ : state) {
    const customlabels::Scope scope{{kScopeKeys[0], kValues[0]}, {kScopeKeys[1], kValues[1]}};
    benchmark::DoNotOptimize(nothing(&state));
  }
}

void do_ours(benchmark::State& state, std::size_t count) {
  namespace labels = customlabels::labels;
  const OwnLabels own(count);
  for (auto _ : state) {
    labels::Do(labels::Labels(kScopeKeys[0], kValues[0], kScopeKeys[1], kValues[1]),
               [&] { benchmark::DoNotOptimize(nothing(&state)); });
  }
}

void adopt_ours(benchmark::State& state, std::size_t count) {
  namespace labels = customlabels::labels;
  const OwnLabels own(count);
  const labels::Context context = labels::Context::capture();
  for (auto _ : state) labels::Do(context, [&] { benchmark::DoNotOptimize(nothing(&state)); });
}

void run_with_ours(benchmark::State& state, std::size_t count) {
  const InstalledSet labels(count);
  auto scope = kScopeLabels;
  for (auto _ : state)
    custom_labels_run_with(labels.set, scope.data(), 2, nothing, nullptr, nullptr);
}

void scope_pushed(benchmark::State& state, std::size_t count) {
  const PushedSet labels(count);
  for (auto _ : state) push_run_with(labels.set, kScopeLabels.data(), 2, nothing, nullptr, nullptr);
}

// ---- whole sets

void install_ours(benchmark::State& state) {
  const InstalledSet first(2);
  const InstalledSet second(2);
  const std::array<custom_labels_labelset_t*, 2> sets = {first.set, second.set};
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(custom_labels_replace(sets[++i % 2]));
}

void install_pushed(benchmark::State& state) {
  const PushedSet first(2);
  const PushedSet second(2);
  const std::array<custom_labels_labelset_t*, 2> sets = {first.set, second.set};
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(push_replace(sets[++i % 2]));
}

void install_bare(benchmark::State& state) {
  std::array<int, 2> values{};
  std::size_t i = 0;
  for (auto _ : state) bare_store(&values[++i % 2]);
  bare_store(nullptr);
}

void put_context(benchmark::State& state) {
  std::uint64_t span = 0;
  for (auto _ : state) thread_context_put(++span, 1);
  thread_context_clear();
}

// ---- the run

using Measure = void (*)(benchmark::State&, std::size_t);

std::string with_count(const std::string& what, std::size_t count) {
  return what + ", of " + std::to_string(count);
}

void add(const std::string& what, std::size_t count, Measure measure) {
  benchmark::RegisterBenchmark(with_count(what, count).c_str(), [measure,
                                                                 count](benchmark::State& state) {
    measure(state, count);
  })->MinTime(kMinSeconds);
}

void add(const char* what, void (*measure)(benchmark::State&)) {
  benchmark::RegisterBenchmark(what, measure)->MinTime(kMinSeconds);
}

// The requests of services have some of these numbers of labels.
constexpr std::array<std::size_t, 3> kCounts = {1, 2, kMostLabels};
constexpr std::size_t kScopeCount = 2;  // labels that are there when the scope is entered

const std::string kScopeOurs = "scope of two: ours";
const std::string kScopePushed = "scope of two: push and swap-delete";

template <Keys keys>
std::string replace_name(const std::string& whose) {
  return (keys == Keys::kOne ? "replace one value: " : "replace each value in turn: ") + whose;
}

template <Keys keys>
void add_replace() {
  for (const std::size_t count : kCounts) {
    add(replace_name<keys>("ours"), count, replace_ours<keys>);
    add(replace_name<keys>("ours, in an installed set"), count, replace_in_set<keys>);
    add(replace_name<keys>("push and swap-delete"), count, replace_pushed<keys>);
  }
}

void add_all() {
  add_replace<Keys::kOne>();
  add_replace<Keys::kInTurn>();
  add(kScopeOurs, kScopeCount, scope_ours);
  add("scope of two: ours, labels::Do", kScopeCount, do_ours);
  add("scope of two: ours, run_with", kScopeCount, run_with_ours);
  add(kScopePushed, kScopeCount, scope_pushed);
  add("adopt a context: ours", kScopeCount, adopt_ours);
  add("install a set: ours", install_ours);
  add("install a set: push and swap-delete", install_pushed);
  add("install a set: a bare store", install_bare);
  add("trace context of 64 bytes: put", put_context);
}

template <Keys keys, class Ratio>
void report_replace(const Ratio& ratio) {
  for (const std::size_t count : kCounts) {
    report_aim("writer, times faster: " + replace_name<keys>("of " + std::to_string(count)),
               ratio(with_count(replace_name<keys>("push and swap-delete"), count),
                     with_count(replace_name<keys>("ours"), count)),
               Bound::kAtLeast, 2);
  }
}

void run() {
  add_all();
  const Medians medians = run_all();
  const auto ratio = [&](const std::string& over, const std::string& under) {
    return medians.cpu_seconds(over) / medians.cpu_seconds(under);
  };
  std::printf("\n");
  report_replace<Keys::kOne>(ratio);
  report_replace<Keys::kInTurn>(ratio);
  report_aim("writer, times faster: a scope of two labels",
             ratio(with_count(kScopePushed, kScopeCount), with_count(kScopeOurs, kScopeCount)),
             Bound::kAtLeast, 5);
  report_aim("writer: installing a set / a bare store",
             ratio("install a set: ours", "install a set: a bare store"), Bound::kAtMost, 1.3);
}

}  // namespace
}  // namespace labelscope::bench

int main(int argc, char** argv) {
  labelscope::bench::initialize(argc, argv, 15);
  labelscope::bench::run();
  return 0;
}
