// These functions read the CPU time of other processes and their threads, by the kernel's own
// account. They are thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

struct ThreadTime {
  Tid tid{};
  // since the thread was created; up to a scheduler tick behind while it runs
  std::uint64_t ran_ns = 0;
  // Says which thread it is, whatever its number, if whoever has read this knows that; else 0.
  std::uint32_t identity = 0;
  // For how long it has waited for a processor, if whoever has read this knows that; without a wait
  // that it is in now.
  std::uint64_t waited_ns = 0;
  // A thread of io_uring, if whoever has read this knows that.
  bool is_worker = false;
};

// Returns the times of the threads that exist now. Fails with kVanished if the process has ended,
// and with kUnsupported if this kernel does not publish them (no CONFIG_SCHED_INFO).
Result<std::vector<ThreadTime>> read_thread_times(Pid pid);

// Returns all time that the process has run on processors so far, threads that have ended included,
// in nanoseconds; nothing once it is gone. A zombie is not gone.
std::optional<std::uint64_t> process_time(Pid pid);

// These are the first two of the three numbers in /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst).
struct RunTime {
  std::uint64_t ran_ns = 0;
  std::uint64_t waited_ns = 0;  // time spent waiting for a processor
};
std::optional<RunTime> parse_run_time(std::string_view schedstat);

}  // namespace labelscope
