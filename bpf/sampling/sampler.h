// The BPF sampler: on-CPU samples of chosen processes, each with its thread's labels. It stops
// nothing; only on aarch64 the first thread of a process, once for each program that it runs
// (labelscope/saved_pointer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "bpf/load/sampler_options.h"
#include "sampling/sampler.h"

namespace labelscope {

class BpfSampler : public Sampler {
 public:
  // Loads and attaches; takes nothing yet. kPermission, kLimit and kUnsupported say in their
  // context which capability, sysctl or kernel feature is missing.
  static Result<std::unique_ptr<BpfSampler>> open(const SamplerOptions& options);

  virtual bool retries() const = 0;
  // Why reads are not repeated, in words; empty if they are, or if that was not asked for.
  virtual std::string_view retry_problem() const = 0;
  // The kernel could repeat reads, and refused the programs that do.
  virtual bool retries_refused() const = 0;
  // Of the sampling program, for the kernel's run-time statistics (BPF_ENABLE_STATS).
  virtual int program_fd() const = 0;
};

// The kernel's statistics of one program; zeros unless they are enabled.
struct ProgramStatistics {
  std::uint64_t run_time_ns = 0;
  std::uint64_t run_count = 0;
};
Result<ProgramStatistics> program_statistics(int program_fd);

}  // namespace labelscope
