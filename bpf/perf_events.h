// One sampling event for each online CPU, for all processes: the BPF program picks.
#pragma once

#include <cstdint>
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
  // When it returns, no program is running for these events.
  Status disable();
  void drain(PerfRing::Handler& handler);
  std::string_view name() const { return name_; }

 private:
  PerfEvents() = default;
  Status open_all(const SamplerOptions& options, bool hardware, const std::vector<int>& cpus);
  Status set(unsigned long request, const char* what);

  std::vector<UniqueFd> events_;
  std::vector<PerfRing> rings_;
  std::string_view name_;
};

// kLimit: the kernel allows fewer samples a second; kUnsupported: none are wanted.
Status check_frequency(std::uint32_t frequency_hz);

// The numbers in a list like "0-3,8,10-11" (format of /sys/devices/system/cpu/online).
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace labelscope
