// The version of the running kernel, and what follows from it.
#pragma once

#include <cstdint>

namespace labelscope {

// Returns 6001 for Linux 6.1, or 0 if there is no version.
unsigned version_of(const char* release);
unsigned kernel_version();

// Returns the bits of task->flags that mark io_uring's threads (also in /proc/PID/task/TID/stat).
// They belong to the process, but run in the kernel only: their thread pointer and registers are
// those that their creator had.
std::uint32_t worker_flags();

}  // namespace labelscope
