// This reads schedstat for threads, and the POSIX clock of a process, which can be found by its
// number and needs no permission.
#include "process/cpu_times.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <string>

#include "labelscope/unique_fd.h"
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

namespace {

// There may be 10,000 threads, so this is the shortest way: from the folder of all of them, and in
// one read of a file that is always shorter.
std::optional<RunTime> read_run_time(int folder, std::string_view thread) {
  const std::string path = std::string(thread) + "/schedstat";
  const UniqueFd fd(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text;
  const ssize_t size = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  return parse_run_time({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace

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
    if (const auto run = read_run_time(::dirfd(dir.get()), name)) {
      times.push_back({Tid{tid}, run->ran_ns, 0, run->waited_ns});
    } else if (read_thread_stat(folder + std::string(name) + "/stat")) {
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
