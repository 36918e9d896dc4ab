// The sampler that needs no BPF: at each tick it stops the threads that are to be sampled, one
// after the other, reads their labels, unwinds their stacks and lets them go.
//
// Everything happens in drain(), on the calling thread (ptrace belongs to a thread). The kernel
// tells nothing by itself, so forks, execs, ends and new mappings are found by looking every 100
// ms: a child process that lives shorter is missed, and what it does first is not sampled. An exec
// is noticed at the next sample at the latest, before labels are read.
//
// Counters::others has what may be zero here and matters: "ticks", "ticks-skipped", "stop-longest-
// us", "stop-median-us", "stop-p99-us", and problems by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "labelscope/sampler.h"

namespace labelscope {

// cpu: threads that run. Each stands for one period of its own CPU time, which the kernel counts:
// a thread that waits for a processor among many costs nothing and is not sampled more often.
// wall: all threads, at every tick.
enum class SampleMode { kCpu, kWall };

struct PtraceSamplerOptions {
  SampleMode mode = SampleMode::kCpu;
  std::uint32_t frequency_hz = 99;  // ticks per second
  bool stacks = true;
  bool follow_children = true;
  std::uint32_t max_processes = 4096;
  // Past this, the unwinding of a stack is cut and the sample flagged LS_STACK_CUT. Counted from
  // when the thread is known to have stopped.
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
};

class PtraceSampler : public Sampler {
 public:
  // Stops nothing yet. The first set_process() of a process stops a thread of it, to see whether it
  // may: kPermission.
  static Result<std::unique_ptr<PtraceSampler>> open(const PtraceSamplerOptions& options);

  // Of the stops so far, from before the kernel was asked until the thread was let go.
  virtual std::chrono::nanoseconds longest_stop() const = 0;
};

}  // namespace labelscope
