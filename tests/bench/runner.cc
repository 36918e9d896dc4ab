// Has the reporter and the flags.
#include "runner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace labelscope::bench {
namespace {

// Prints the medians alone, and keeps the time of each repetition.
class KeepingReporter final : public benchmark::ConsoleReporter {
 public:
  KeepingReporter() : ConsoleReporter(OO_Tabular) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> shown;
    for (const Run& run : runs) {
      if (run.error_occurred) failed_ = true;
      if (run.error_occurred || run.aggregate_name == "median") shown.push_back(run);
      if (run.run_type != Run::RT_Iteration || run.iterations == 0) continue;
      const auto iterations = static_cast<double>(run.iterations);
      medians_.add(run.run_name.function_name, run.real_accumulated_time / iterations,
                   run.cpu_accumulated_time / iterations);
    }
    if (!shown.empty()) ConsoleReporter::ReportRuns(shown);
  }
  const Medians& medians() const { return medians_; }
  bool failed() const { return failed_; }

 private:
  Medians medians_;
  bool failed_ = false;
};

}  // namespace

double Medians::median(const Times& times, const std::string& benchmark) {
  auto found = times.find(benchmark);
  if (found == times.end()) {
    std::fprintf(stderr, "the benchmark %s did not run\n", benchmark.c_str());
    std::exit(1);
  }
  std::vector<double> sorted = found->second;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void initialize(int& argc, char** argv, int repetitions) {
  static std::vector<std::string> defaults{argv[0],
                                           "--benchmark_repetitions=" + std::to_string(repetitions),
                                           "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> arguments;
  arguments.reserve(defaults.size());
  for (std::string& one : defaults) arguments.push_back(one.data());
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  benchmark::Initialize(&argc, argv);
}

Medians run_all() {
  KeepingReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (reporter.failed()) std::exit(1);
  return reporter.medians();
}

}  // namespace labelscope::bench
