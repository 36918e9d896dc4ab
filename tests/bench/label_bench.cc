// Measures what a sample costs in the kernel, part by part: an empty program, finding the variable,
// the stack, the labels, both, and labels read one string at a time. Each is measured twice: hot
// (by hand, hundreds of times within one run, in the thread that owns the labels) and in a timer's
// interrupt of a busy child (by the kernel's run-time statistics). The parts take turns, so that
// other work on the machine affects all of them alike.
//
//  bench_labels [--quick]      quick: one round of each, to see that everything still works
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aims.h"
#include "bpf/sampling/sampler.h"
#include "bpf_bench.h"
#include "label_sets.h"

namespace labelscope::bench {
namespace {

using std::chrono::milliseconds;

// Between main() and the work are this number of the benchmark's own frames; the libc's below make
// it 29 or 30.
constexpr int kDepth = 23;
constexpr std::uint32_t kFrequency = 4999;

struct Effort {
  int hot_rounds;
  int event_rounds;
  milliseconds window;
};
constexpr Effort kFull{201, 15, milliseconds(40)};
constexpr Effort kQuick{1, 1, milliseconds(40)};

using Times = std::map<Part, double>;  // nanoseconds

[[noreturn]] void fail(const Error& error) {
  if (error.code == ErrorCode::kPermission) {
    std::printf("SKIPPED: %s\n", error.context.c_str());
    std::exit(77);
  }
  std::fprintf(stderr, "bench_labels: %s\n", error.context.c_str());
  std::exit(1);
}

void check(const Status& status) {
  if (!status) fail(status.error());
}

template <class T>
T check(Result<T> result) {
  if (!result) fail(result.error());
  return *std::move(result);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Times medians(const std::map<Part, std::vector<double>>& all) {
  Times times;
  for (const auto& [part, values] : all) times[part] = median(values);
  return times;
}

// Checks that the programs did the work that is timed: they must have read all labels. Where the
// strings lie apart, that takes one read for each, so that no bytes between them are read.
void check_work(const BpfBench& bench, const SetKind& kind, Part part) {
  const bench_result& seen = bench.result();
  if (part == Part::kEmpty || part == Part::kFind || part == Part::kStack) return;
  const std::size_t bytes = label_bytes(kind.labels);
  const bool apart = kind.layout == Layout::kScattered;
  if (seen.outcome == LS_LABELLED && seen.labels == kind.labels &&
      (apart || part == Part::kNaive ? seen.label_bytes == bytes : seen.label_bytes >= bytes)) {
    return;
  }
  fail({ErrorCode::kMalformed, "the program for " + std::string(part_name(part)) + " read " +
                                   std::to_string(seen.labels) + " labels of " +
                                   std::to_string(seen.label_bytes) + " bytes"});
}

Times run_hot(BpfBench& bench, const SetKind& kind, const Effort& effort) {
  std::map<Part, std::vector<double>> all;
  at_depth(kDepth, [&] {
    for (int round = 0; round < effort.hot_rounds; ++round) {
      for (Part part : kParts) {
        all[part].push_back(check(bench.run(part)));
        check_work(bench, kind, part);
      }
    }
  });
  return medians(all);
}

// A copy of this process that does nothing but compute, at the same depth of the stack. It ends
// with this object.
class BusyChild {
 public:
  BusyChild() {
    pid_ = fork();
    if (pid_ < 0) fail(system_error(errno, "cannot start a child"));
    if (pid_ == 0) burn();
  }
  BusyChild(const BusyChild&) = delete;
  BusyChild& operator=(const BusyChild&) = delete;
  ~BusyChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  [[noreturn]] static void burn() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    at_depth(kDepth, [] {
      for (;;) __asm__ volatile("");
    });
    std::abort();
  }
  pid_t pid_ = -1;
};

ProgramStatistics operator-(const ProgramStatistics& later, const ProgramStatistics& earlier) {
  return {later.run_time_ns - earlier.run_time_ns, later.run_count - earlier.run_count};
}

Times run_in_events(BpfBench& bench, const SetKind& kind, const Effort& effort,
                    const ls_tls_recipe& recipe) {
  BusyChild child;
  check(bench.set_process(child.pid(), recipe));
  std::map<Part, ProcessEvent> events;
  for (Part part : kParts) {
    events.emplace(
        part, check(ProcessEvent::open(child.pid(), kFrequency, bench.event_program_fd(part))));
  }
  std::map<Part, std::vector<double>> all;
  for (int round = 0; round < effort.event_rounds; ++round) {
    for (Part part : kParts) {
      const int fd = bench.event_program_fd(part);
      const ProgramStatistics before = check(program_statistics(fd));
      check(events.at(part).enable());
      std::this_thread::sleep_for(effort.window);
      check(events.at(part).disable());
      const ProgramStatistics ran = check(program_statistics(fd)) - before;
      if (ran.run_count == 0) continue;
      check_work(bench, kind, part);
      all[part].push_back(static_cast<double>(ran.run_time_ns) /
                          static_cast<double>(ran.run_count));
    }
  }
  return medians(all);
}

// The sampler itself counts the samples.
class Ignore final : public EventHandler {
 public:
  void on_sample(const Sample& sample) override { (void)sample; }
  void on_fork(Pid, ProcessKey) override {}
  void on_exec(ProcessKey, std::string_view) override {}
  void on_exit(Pid pid) override { (void)pid; }
  void on_thread_end(ProcessKey, Tid, std::uint64_t) override {}
  void on_mapping(const MappingEvent& mapping) override { (void)mapping; }
};

// Runs the whole sampler of labelscope, which includes the record in the ring buffer. It runs on
// every CPU; for each run in another process the time of an empty program is subtracted.
double run_sampler(const Effort& effort, const ls_tls_recipe& recipe, bool labels,
                   double empty_ns) {
  BusyChild child;
  Ignore ignore;
  std::vector<double> all;
  for (int round = 0; round < effort.event_rounds / 5 + 1; ++round) {
    SamplerOptions options;
    options.frequency_hz = kFrequency;
    auto sampler = check(BpfSampler::open(options));
    check(sampler->set_process(child.pid(), {&recipe, labels ? 1U : 0U}));
    check(sampler->start());
    std::this_thread::sleep_for(4 * effort.window);
    check(sampler->stop(ignore));
    const ProgramStatistics ran = check(program_statistics(sampler->program_fd()));
    const std::uint64_t taken = sampler->counters().taken;
    if (taken == 0) continue;
    const double others = static_cast<double>(ran.run_count - taken) * empty_ns;
    all.push_back((static_cast<double>(ran.run_time_ns) - others) / static_cast<double>(taken));
  }
  return median(all);
}

void print_head(const char* title) {
  std::printf("\n%s\n%-12s %6s", title, "layout", "labels");
  for (Part part : kParts) std::printf(" %12s", std::string(part_name(part)).c_str());
  std::printf(" %12s\n", "walk / naive");
}

// Subtracts the empty program, whose loop and clock belong to the measurement.
double net(const Times& times, Part part) { return times.at(part) - times.at(Part::kEmpty); }

// Compares the walks alone, without what comes before both.
double of_naive_walk(const Times& times) {
  const double find = times.at(Part::kFind);
  return (times.at(Part::kLabels) - find) / (times.at(Part::kNaive) - find);
}

void print_row(const SetKind& kind, const Times& times) {
  std::printf("%-12s %6zu", std::string(layout_name(kind.layout)).c_str(), kind.labels);
  for (Part part : kParts) std::printf(" %12.0f", times.at(part));
  std::printf(" %12.2f\n", of_naive_walk(times));
  std::fflush(stdout);
}

void report_aims(const SetKind& kind, const Times& times, const std::string& where) {
  if (kind.labels != 10) return;
  const double of_naive = of_naive_walk(times);
  if (kind.layout == Layout::kScattered) {
    report_aim("10 scattered labels / naive walk, " + where, of_naive, Bound::kAtMost, 0.75);
  } else if (kind.layout == Layout::kWriter) {
    report_aim("10 labels of our writer / naive walk, " + where, of_naive, Bound::kAtMost, 0.3);
    report_aim("10 labels of our writer / stack, " + where,
               net(times, Part::kLabels) / net(times, Part::kStack), Bound::kAtMost, 0.3);
  }
}

void run(const Effort& effort) {
  BpfBench bench = check(BpfBench::open());
  const UniqueFd statistics = check(enable_statistics());
  check(pin_to_last_cpu());
  struct Measured {
    SetKind kind;
    ls_tls_recipe recipe;
    Times hot;
    Times events;
  };
  std::vector<Measured> all;
  print_head("BPF time, hot: ns for one execution, median");
  for (const SetKind& kind : all_set_kinds()) {
    const ls_tls_recipe recipe = check(publish(kind));
    check(bench.set_process(Pid{getpid()}, recipe));
    all.push_back({kind, recipe, run_hot(bench, kind, effort), {}});
    print_row(kind, all.back().hot);
  }
  std::printf("the stack has %u user frames\n", bench.result().frames);

  print_head("BPF time, in a timer's interrupt (run-time statistics): ns for one event, median");
  for (Measured& one : all) {
    one.recipe = check(publish(one.kind));
    one.events = run_in_events(bench, one.kind, effort, one.recipe);
    print_row(one.kind, one.events);
  }
  std::printf("the stack has %u user frames\n", bench.result().frames);

  std::printf(
      "\nThe whole sampler, record included: ns for one sample, median\n%-12s %6s %12s %12s\n",
      "layout", "labels", "no labels", "with labels");
  for (const Measured& one : all) {
    if (one.kind.labels != 10) continue;
    const ls_tls_recipe recipe = check(publish(one.kind));
    const double empty = one.events.at(Part::kEmpty);
    const double without = run_sampler(effort, recipe, false, empty);
    const double with = run_sampler(effort, recipe, true, empty);
    std::printf("%-12s %6zu %12.0f %12.0f\n", std::string(layout_name(one.kind.layout)).c_str(),
                one.kind.labels, without, with);
  }
  std::printf("\n");
  for (const Measured& one : all) report_aims(one.kind, one.hot, "hot");
  for (const Measured& one : all) report_aims(one.kind, one.events, "in interrupts");
}

}  // namespace
}  // namespace labelscope::bench

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  labelscope::bench::run(quick ? labelscope::bench::kQuick : labelscope::bench::kFull);
  return 0;
}
