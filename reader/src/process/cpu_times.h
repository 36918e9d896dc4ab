// CPU time of other processes and their threads, by the kernel's own account. Thread-safe.
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
  std::uint64_t ran_ns = 0;  // since it was made; up to a scheduler tick behind while it runs
};

// The threads that exist now. kVanished: the process has ended. kUnsupported: this kernel does not
// tell (no CONFIG_SCHED_INFO).
Result<std::vector<ThreadTime>> read_thread_times(Pid pid);

// All that the process has run on processors so far, threads that have ended included, in
// nanoseconds; nothing once it is gone. A zombie is not gone.
std::optional<std::uint64_t> process_time(Pid pid);

// The first two of the three numbers in /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst).
struct RunTime {
  std::uint64_t ran_ns = 0;
  std::uint64_t waited_ns = 0;  // for a processor
};
std::optional<RunTime> parse_run_time(std::string_view schedstat);

}  // namespace labelscope
