// For each CPU there is an event of all processes that samples threads that run, at a rate that is
// drawn again and again (drawn_rates.h). The BPF program picks some processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/load/sampler_options.h"
#include "bpf/sampling/drawn_rates.h"
#include "bpf/sampling/event_source.h"
#include "bpf/sampling/mapping_events.h"
#include "bpf/sampling/processor_watch.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class TimedEvents final : public EventSource {
 public:
  // Opens the events, disabled, and gives them the program. They report in the rings of the others,
  // which must outlive them, when the kernel pauses them.
  static Result<TimedEvents> open(const SamplerOptions& options, const MappingEvents& rings,
                                  int program_fd);

  std::string_view name() const override { return counts_cycles_ ? "cycles" : "cpu-clock"; }
  Status enable() override;
  Status disable() override;
  // Draws new rates if that is due, and looks at processors.
  void work(const BpfObject& object) override;
  // Until the rates change.
  std::chrono::milliseconds longest_wait() const override;
  void add_counts(Counters& counters) const override;
  std::vector<std::string> remarks() const override { return processors_.remarks(); }

 private:
  explicit TimedEvents(const MappingEvents& rings) : processors_(rings) {}
  Status open_all(const SamplerOptions& options, const MappingEvents& rings);
  // `fired` says how many samples the event of each possible CPU has taken, in the order of their
  // numbers, of which some may be left out.
  void change_rates(std::span<const std::uint64_t> fired);
  Status set(unsigned long request, const char* what);

  struct OfCpu {
    int cpu;
    UniqueFd event;
  };

  std::vector<OfCpu> events_;
  bool counts_cycles_ = false;
  DrawnRates rates_;
  std::uint64_t rates_not_changed_ = 0;  // so often the kernel refused to change one
  std::vector<int> possible_;            // CPUs, by number
  ProcessorWatch processors_;
};

}  // namespace labelscope
