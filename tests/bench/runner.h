// Google Benchmark as this folder uses it: repetitions that take turns, medians, and times that can
// be read afterwards, so that ratios can be compared with their aims.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace labelscope::bench {

class Medians {
 public:
  // Returns the seconds of one iteration, as the median of all repetitions: by the clock, or of
  // this process's CPU time (which can be compared with others on a busy machine). Exits with 1 if
  // the benchmark did not run.
  double seconds(const std::string& benchmark) const { return median(clock_, benchmark); }
  double cpu_seconds(const std::string& benchmark) const { return median(cpu_, benchmark); }

  void add(const std::string& benchmark, double clock, double cpu) {
    clock_[benchmark].push_back(clock);
    cpu_[benchmark].push_back(cpu);
  }

 private:
  using Times = std::map<std::string, std::vector<double>>;
  static double median(const Times& times, const std::string& benchmark);
  Times clock_;
  Times cpu_;
};

// Takes Google Benchmark's own flags from the command line; they override `repetitions`. A
// benchmark that reports an error ends the process with 1.
void initialize(int& argc, char** argv, int repetitions);
Medians run_all();

}  // namespace labelscope::bench
