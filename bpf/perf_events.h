// One sampling event for each online CPU, for all processes: the BPF program picks.
//
// An event that fires at a fixed rate keeps step with whatever has nearly the same period: of work
// that is done every 10 ms it sees the same moment again and again, at 99 Hz for seconds. So each
// event's rate is drawn anew all the time, uniformly from half to one and a half times the mean:
// then two samples of the same stretch are as far apart as chance has it, whatever the program's
// period is. The kernel can change the rate of an event and nothing finer; a change starts the
// period from its beginning, so an eye is kept on how often that is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "bpf/perf_ring.h"
#include "bpf/sampler.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class PerfEvents {
 public:
  // Opens the events, disabled, and gives them the program.
  static Result<PerfEvents> open(const SamplerOptions& options, int program_fd);

  Status enable();
  // Draws the rates anew, if it is time. Often enough: every few milliseconds.
  void change_rates();
  // When it returns, no program is running for these events.
  Status disable();
  void drain(PerfRing::Handler& handler);
  std::string_view name() const { return name_; }
  // Times that an event could not be given another rate.
  std::uint64_t rates_not_changed() const { return rates_not_changed_; }

 private:
  using Clock = std::chrono::steady_clock;

  PerfEvents() = default;
  void draw_rates();
  Status open_all(const SamplerOptions& options, bool hardware, const std::vector<int>& cpus);
  Status set(unsigned long request, const char* what);

  std::vector<UniqueFd> events_;
  std::vector<PerfRing> rings_;
  std::string_view name_;
  bool counts_cycles_ = false;
  double mean_hz_ = 0;
  double highest_hz_ = 0;  // that the kernel takes for cycles
  std::mt19937_64 random_{std::random_device{}()};
  Clock::time_point next_change_;
  std::uint64_t rates_not_changed_ = 0;
};

// kLimit: the kernel allows fewer samples a second; kUnsupported: none are wanted.
Status check_frequency(std::uint32_t frequency_hz);

// The numbers in a list like "0-3,8,10-11" (format of /sys/devices/system/cpu/online).
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace labelscope
