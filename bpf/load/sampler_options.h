// What a caller chooses of the BPF sampler. The programs and their maps are loaded accordingly, so
// this is the room that needs it first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "sampling/sampler.h"
#include "unwind/stack.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

// When a page with labels is not in memory: read again with page faults allowed, where the kernel
// can.
enum class RetryMode { kAuto, kOff };

struct SamplerOptions {
  SampleMode mode = SampleMode::kCpu;
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

}  // namespace labelscope
