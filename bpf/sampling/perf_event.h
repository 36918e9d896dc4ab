// A perf event of one CPU, and the kernel's limits and refusals in words.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// The attributes of an event that writes into a ring (perf_ring.h). The ring is ready as soon as
// there is one record in it. Records have the time of their event by the clock of samples; all
// events of a ring must have one clock.
perf_event_attr with_ring();
// If it is invalid, errno has the reason: ENODEV if the CPU has gone offline.
UniqueFd open_event(perf_event_attr attributes, int cpu);
// Says why the kernel has refused an event of all processes.
Error refused_event(int error);

// How long an event has been active, in idle, too, if it was opened with
// PERF_FORMAT_TOTAL_TIME_RUNNING; nothing if the kernel does not say.
std::optional<std::uint64_t> active_ns(int event);

// The highest rate that the kernel allows; 0 if it does not say.
unsigned long most_samples_a_second();
// Returns kLimit if the kernel allows fewer samples a second, and kUnsupported if no samples are
// wanted.
Status check_frequency(std::uint32_t frequency_hz);

// Returns the numbers in a list like "0-3,8,10-11" (format of /sys/devices/system/cpu/online).
Result<std::vector<int>> parse_cpu_list(std::string_view text);
// The CPUs that are online, and that may ever be.
Result<std::vector<int>> online_cpus();
Result<std::vector<int>> possible_cpus();

}  // namespace labelscope
