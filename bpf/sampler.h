// The BPF sampler: on-CPU samples of chosen processes, each with its thread's labels. It stops
// nothing; only on aarch64 the first thread of a process, once for each program that it runs
// (labelscope/saved_pointer.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sampling/sampler.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

// When a page with labels is not in memory: read again with page faults allowed, where the kernel
// can.
enum class RetryMode { kAuto, kOff };

struct SamplerOptions {
  std::uint32_t frequency_hz = 99;
  ls_call_graph call_graph = LS_CALL_GRAPH_FP;  // of the user's part
  bool kernel_stacks = true;
  bool follow_children = true;
  bool software_clock_only = false;  // cpu-clock even where the hardware counts cycles
  RetryMode retries = RetryMode::kAuto;
  std::uint32_t max_processes = 4096;
  std::size_t ring_bytes = 8 << 20;      // rounded up to a power of two of pages
  std::size_t unwind_bytes = 256 << 20;  // of tables, for LS_CALL_GRAPH_DWARF
  // start() waits at most so long for the tables of what runs already. Until the others are there,
  // stacks say that a file has no table.
  std::chrono::milliseconds tables_wait{2000};
  // How a file becomes a table; by default in this process.
  BuildUnwindTable build_table{};
};

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
