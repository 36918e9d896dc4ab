// Google Benchmark with this folder's habits: repetitions that take turns, medians, and the times
// at hand afterwards, so that ratios can be held against their aims.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace labelscope::bench {

class Medians {
 public:
  // Seconds of one iteration, the median of all repetitions: by the clock, or of this process's CPU
  // time (on a busy machine, that of one core is what can be compared). Exits with 1 if the
  // benchmark did not run.
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

// Takes Google Benchmark's own flags off the command line, which override `repetitions`. A
// benchmark that reports an error ends the process with 1.
void initialize(int& argc, char** argv, int repetitions);
Medians run_all();

}  // namespace labelscope::bench
