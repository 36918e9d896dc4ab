// This reads schedstat for threads, and the POSIX clock of a process, which can be found by its
// number and needs no permission.
#include "process/cpu_times.h"

#include <dirent.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <string>

#include "process/proc_fs.h"

namespace labelscope {

std::optional<RunTime> parse_run_time(std::string_view schedstat) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = schedstat.data();
  const char* const end = at + schedstat.size();
  for (std::uint64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc{}) return std::nullopt;
    at = parsed.ptr;
  }
  return RunTime{numbers[0], numbers[1]};
}

Result<std::vector<ThreadTime>> read_thread_times(Pid pid) {
  const std::string folder = "/proc/" + std::to_string(raw(pid)) + "/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  if (!dir) {
    if (errno == ENOENT) {
      return Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
    }
    return system_error(errno, folder);
  }
  std::vector<ThreadTime> times;
  bool all_known = true;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    std::int32_t tid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const std::string path = folder + std::string(name);
    if (auto text = read_proc_file(path + "/schedstat")) {
      if (auto run = parse_run_time(*text)) times.push_back({Tid{tid}, run->ran_ns});
    } else if (read_thread_stat(path + "/stat")) {
      all_known = false;  // the thread is there, but its time is not
    }
  }
  if (!all_known && times.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "this kernel does not show the CPU time of threads (" + folder + "*/schedstat)"};
  }
  return times;
}

std::optional<std::uint64_t> process_time(Pid pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(raw(pid), &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace labelscope
