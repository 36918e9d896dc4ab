// For each online CPU there are two events of all processes. The first one reports executable
// mappings from open() on, so that what is mapped after the first look at a process is not missed.
// The second one samples from enable() on; the BPF program picks some processes.
//
// The problem of a fixed rate: at 99 Hz, work that is done every 10 ms is seen at the same moment
// of its period again and again, for seconds:
//
//   work      |##......|##......|##......|##......|      # runs under label A, . under B
//   99 Hz        x        x        x        x            only B, it seems
//   random     x     x       x   x           x           both, in the right shares
//
// So each event gets another rate about every 20 samples, drawn uniformly between half the mean and
// one and a half times the mean. The kernel can change only the rate of an event. Each change
// starts a new period, so it must not happen too often.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "bpf/load/sampler_options.h"
#include "bpf/sampling/perf_ring.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class PerfEvents {
 public:
  // Reports mappings from now on.
  static Result<PerfEvents> open(const SamplerOptions& options);
  // Opens the events that sample, disabled, and gives them the program. There are none if the mode
  // samples only waits.
  Status prepare(const SamplerOptions& options, int program_fd);

  // Begins to sample.
  Status enable();
  // Draws new rates if it is time. Call it when until_change() is over.
  void change_rates();
  // Returns how long the rates stay as they are; without samples that is for ever.
  std::chrono::milliseconds until_change() const;
  // When this returns, no program is running for these events. Mappings are reported still.
  Status disable();
  void end_reports();
  void drain(PerfRing::Handler& handler);
  // Whether there is something to drain.
  bool has_reports() const;
  // Call it after drain().
  void leave_out_losses();
  // Can be read (epoll) when there is a record to drain.
  int ready_fd() const { return ready_.get(); }
  std::string_view name() const { return name_; }
  // Returns how often the kernel refused to change the rate of an event.
  std::uint64_t rates_not_changed() const { return rates_not_changed_; }

 private:
  using Clock = std::chrono::steady_clock;

  PerfEvents() = default;
  void draw_rates();
  Status open_samplers(const SamplerOptions& options, bool hardware);
  Status set(unsigned long request, const char* what);

  // The event of a CPU that reports mappings, with the ring of both events of that CPU.
  struct Reporter {
    int cpu;
    UniqueFd event;
    PerfRing ring;
  };

  UniqueFd ready_;
  std::vector<Reporter> reporters_;
  std::vector<UniqueFd> events_;  // those that sample
  std::string_view name_ = "sched_switch";
  bool samples_ = false;  // false if only mappings are reported
  bool counts_cycles_ = false;
  double mean_hz_ = 0;
  double highest_hz_ = 0;  // the highest rate that the kernel allows for cycles
  std::mt19937_64 random_{std::random_device{}()};
  Clock::time_point next_change_;
  std::uint64_t rates_not_changed_ = 0;
};

// Returns kLimit if the kernel allows fewer samples a second, and kUnsupported if no samples are
// wanted.
Status check_frequency(std::uint32_t frequency_hz);

// Returns the numbers in a list like "0-3,8,10-11" (format of /sys/devices/system/cpu/online).
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace labelscope
