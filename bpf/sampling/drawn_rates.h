// DrawnRates decides when an event that samples gets another rate, and which one. The problem of a
// fixed rate: at 99 Hz, work that is done every 10 ms is seen at the same moment of its period
// again and again, for seconds:
//
//   work      |##......|##......|##......|##......|      # runs under label A, . under B
//   99 Hz        x        x        x        x            only B, it seems
//   random     x     x       x   x           x           both, in the right shares
//
// So each event gets another rate about every 20 samples. Its period is drawn uniformly between
// half of the usual one and one and a half times that: so work of any period near it is met at all
// its moments alike, from one sample to the next. (Rates that were drawn uniformly would be fast
// ones too often. For work of 0.7 periods, shares would be 1.4 times as uncertain as by independent
// samples; so they are 1.15 times at most.) The kernel can change nothing but an event's rate
// (PERF_EVENT_IOC_PERIOD), and each change begins a period anew: what the event has counted since
// its last sample is lost, half a period on average.
//
//   the clock   runs on while its processor is idle. Changes may come at any time: what is lost is
//               time, whatever runs in it.
//   cycles      are counted only while the processor is busy. If changes came by the clock, too,
//               one that is busy for 2 % of the time would count a hundredth of a period between
//               two of them, and lose it: it would never be sampled. And of the others, work in
//               short pieces would be sampled less often than work in long ones.
//
// So an event of cycles gets another rate only when it has taken about 20 samples since the last
// change. Then each change loses half a sample of 20, however long they took.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace labelscope {

class DrawnRates {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    bool counts_cycles = false;
    double mean_hz = 0;
    double highest_hz = 0;  // of cycles, as the kernel allows; 0: there is no limit
    std::uint64_t seed = 0;
  };
  DrawnRates() = default;
  explicit DrawnRates(const Options& options) : options_(options), random_(options.seed) {}

  // Returns how long the rates stay as they are, at least.
  Clock::duration until_due(Clock::time_point now) const { return next_ - now; }
  // Returns a rate for each event, or 0 for one that keeps its own. `fired` says how many samples
  // each has taken since it was opened; nothing for those of which that is not known. The first
  // call gives each event a rate. Call it when the time above is over.
  std::vector<double> draw(Clock::time_point now, std::span<const std::uint64_t> fired,
                           std::size_t events);

 private:
  // The number of samples that an event has taken when it gets another rate.
  std::vector<std::uint64_t> due_;
  Options options_;
  std::mt19937_64 random_;
  Clock::time_point next_;  // long ago
};

}  // namespace labelscope
