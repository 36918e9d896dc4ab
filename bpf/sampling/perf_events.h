// For each online CPU there are two events of all processes. The first one reports executable
// mappings from open() on, so that what is mapped after the first look at a process is not missed.
// The second one samples from enable() on; the BPF program picks some processes.
// Its rate is drawn again and again (drawn_rates.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/load/sampler_options.h"
#include "bpf/sampling/drawn_rates.h"
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
  // Draws new rates. Call it when until_change() is 0. `fired` says how many samples the event of
  // each possible CPU has taken, in the order of their numbers, of which some may be left out.
  void change_rates(std::span<const std::uint64_t> fired);
  // Returns how long the rates stay as they are; without samples that is for ever.
  std::chrono::milliseconds until_change() const;
  // Finds processors whose events have ceased: the kernel does not give them back to a processor
  // that was offline, as all but the first are while the machine sleeps. Nor have processors events
  // that come later. Call it often: it looks once a second.
  void look_at_processors();
  // Sentences about these, and their number.
  const std::vector<std::string>& remarks() const { return remarks_; }
  std::uint64_t processors_not_sampled() const { return processors_not_sampled_; }
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
  // Whether the events take samples, or report mappings alone. Known after prepare().
  bool samples() const { return samples_; }
  // Returns how often the kernel refused to change the rate of an event.
  std::uint64_t rates_not_changed() const { return rates_not_changed_; }

 private:
  PerfEvents() = default;
  Status open_samplers(const SamplerOptions& options, bool hardware);
  void note_processors(const std::vector<int>& cpus, const std::string& what);
  Status set(unsigned long request, const char* what);

  // The event of a CPU that reports mappings, with the ring of both events of that CPU.
  struct Reporter {
    int cpu;
    UniqueFd event;
    PerfRing ring;
    std::uint64_t active_ns = 0;  // how long it had been active when it was looked at
    bool is_lost = false;
  };

  // The event of a CPU that samples.
  struct SamplingEvent {
    int cpu;
    UniqueFd event;
  };

  UniqueFd ready_;
  std::vector<Reporter> reporters_;
  std::vector<SamplingEvent> events_;
  std::string_view name_ = "sched_switch";
  bool samples_ = false;  // false if only mappings are reported
  bool counts_cycles_ = false;
  DrawnRates rates_;
  DrawnRates::Clock::time_point next_look_;
  std::vector<int> possible_;     // CPUs, by number
  std::set<int> without_events_;  // processors that have come since
  std::vector<std::string> remarks_;
  std::uint64_t processors_not_sampled_ = 0;
  std::uint64_t rates_not_changed_ = 0;
};

// Returns kLimit if the kernel allows fewer samples a second, and kUnsupported if no samples are
// wanted.
Status check_frequency(std::uint32_t frequency_hz);

// Returns the numbers in a list like "0-3,8,10-11" (format of /sys/devices/system/cpu/online).
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace labelscope
