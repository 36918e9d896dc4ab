// Reading whole files of /proc (which have no size beforehand), and what stands in some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "labelscope/result.h"

namespace labelscope {

// All of it, or its first `most` bytes: some files are as long as a process wants them to be.
Result<std::string> read_proc_file(const std::string& path, std::size_t most = SIZE_MAX);

// The value of one line of /proc/PID/status; empty if there is no such line.
std::string_view status_field(std::string_view status, std::string_view name);

// Of /proc/PID/stat, or /proc/PID/task/TID/stat.
struct ThreadStat {
  std::string name;  // bytes
  char state = '?';
  std::uint64_t flags = 0;  // PF_* of the kernel's include/linux/sched.h
};
std::optional<ThreadStat> parse_thread_stat(std::string_view text);
// Nothing if it is gone.
std::optional<ThreadStat> read_thread_stat(const std::string& path);

inline bool has_ended(char state) { return state == 'Z' || state == 'X'; }

}  // namespace labelscope
