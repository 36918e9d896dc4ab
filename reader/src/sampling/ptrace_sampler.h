// The sampler by ptrace needs no BPF. At each tick it takes the threads that are due for a sample,
// one after the other: it stops the thread, reads its labels, unwinds its stack, and lets it go.
//
// Everything happens in drain(), on the calling thread (ptrace belongs to a thread). The kernel
// does not report forks, execs, ends and new mappings to this sampler. So it looks for them every
// 100 ms. A child process that lives shorter is missed, and so are the first moments of the others.
// An exec is noticed at the next sample at the latest, before labels are read.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "sampling/sampler.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

struct PtraceSamplerOptions {
  SampleMode mode = SampleMode::kCpu;
  ls_sample_kind kind() const { return kind_by_ptrace(mode); }
  std::uint32_t frequency_hz = 99;  // ticks per second
  bool stacks = true;
  bool follow_children = true;
  std::uint32_t max_processes = 4096;
  // After this time, the unwinding of a stack is cut and the sample flagged LS_STACK_CUT. The time
  // is counted from when the thread is known to have stopped.
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
  // Makes the unwind table of a file; drain() calls it while no thread is held. If it is empty,
  // libelf and libdw read the target's files in this process, with its rights.
  BuildUnwindTable build_table{};
};

// This stops nothing yet. The first set_process() of a process stops a thread of it, to find out
// whether that is allowed, and fails with kPermission if not.
Result<std::unique_ptr<Sampler>> open_ptrace_sampler(const PtraceSamplerOptions& options);

}  // namespace labelscope
