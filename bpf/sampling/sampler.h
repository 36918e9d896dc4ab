// The BPF sampler takes on-CPU samples of chosen processes, each with its thread's labels. It stops
// no thread. There is one exception, on aarch64: the first thread of a process is stopped once for
// each program that it runs (labelscope/saved_pointer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "bpf/load/sampler_options.h"
#include "sampling/sampler.h"

namespace labelscope {

class BpfSampler : public Sampler {
 public:
  // Loads and attaches the programs, but takes no samples yet. The context of kPermission, kLimit
  // and kUnsupported names the capability, sysctl or kernel feature that is missing.
  static Result<std::unique_ptr<BpfSampler>> open(const SamplerOptions& options);

  virtual bool retries() const = 0;
  // Returns in words why reads are not repeated. It is empty if they are, or if the options do not
  // ask for that.
  virtual std::string_view retry_problem() const = 0;
  // Returns true if the kernel could repeat reads, but refused the programs that do.
  virtual bool retries_refused() const = 0;
  // Returns the descriptor of the sampling program, for the kernel's run-time statistics
  // (BPF_ENABLE_STATS).
  virtual int program_fd() const = 0;
};

// The kernel's statistics of one program. They are zeros unless they are enabled.
struct ProgramStatistics {
  std::uint64_t run_time_ns = 0;
  std::uint64_t run_count = 0;
};
Result<ProgramStatistics> program_statistics(int program_fd);

}  // namespace labelscope
