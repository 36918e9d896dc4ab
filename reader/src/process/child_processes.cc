// This reads /proc/PID/task/TID/children, if the kernel has it (CONFIG_PROC_CHILDREN). Otherwise,
// and for a process with more threads than the machine has processes, it reads the parent of every
// process.
#include "process/child_processes.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "process/proc_fs.h"

namespace labelscope {
namespace {

std::optional<std::int32_t> parse_number(std::string_view text) {
  std::int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void add_numbers(std::string_view text, std::vector<Pid>& pids) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (auto number = parse_number(text.substr(0, end))) pids.push_back(Pid{*number});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The parent is the fourth field of /proc/PID/stat; the second is a name in brackets that may have
// brackets.
std::optional<std::int32_t> parent_of(const std::string& pid) {
  auto stat = read_proc_file("/proc/" + pid + "/stat");
  if (!stat) return std::nullopt;
  std::string_view rest = *stat;
  const std::size_t name_end = rest.rfind(") ");
  if (name_end == std::string_view::npos || rest.size() < name_end + 4) return std::nullopt;
  rest.remove_prefix(name_end + 4);  // ") S "
  return parse_number(rest.substr(0, rest.find(' ')));
}

std::vector<Pid> ask_everyone(Pid parent) {
  std::vector<Pid> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    auto pid = parse_number(entry->d_name);
    // For this file of its own the kernel would add up the times of its 10,000 threads.
    if (!pid || *pid == raw(parent)) continue;
    if (parent_of(entry->d_name) == raw(parent)) pids.push_back(Pid{*pid});
  }
  return pids;
}

// Returns 0 if that is not known.
std::size_t count_of_threads(const LiveProcess& process) {
  const auto status = process.read_proc("status");
  if (!status) return 0;
  return static_cast<std::size_t>(parse_number(status_field(*status, "Threads")).value_or(0));
}

}  // namespace

// /proc has a link for each process, and some more.
std::size_t count_of_processes() {
  struct stat status {};
  return ::stat("/proc", &status) == 0 ? status.st_nlink : SIZE_MAX;
}

std::vector<Pid> child_processes(const LiveProcess& process, std::size_t processes) {
  // To read the parent of a process takes about twice as long as to read the children of a thread.
  // The threads are counted first, because it takes ten milliseconds to list 10,000.
  if (count_of_threads(process) / 2 > processes) return ask_everyone(process.pid());
  auto threads = process.threads();
  if (!threads) return {};
  std::vector<Pid> pids;
  const std::string folder = "/proc/" + std::to_string(raw(process.pid())) + "/task/";
  bool answered = false;
  for (Tid tid : *threads) {
    auto text = read_proc_file(folder + std::to_string(raw(tid)) + "/children");
    if (!text) continue;
    answered = true;
    add_numbers(*text, pids);
  }
  return answered ? pids : ask_everyone(process.pid());
}

}  // namespace labelscope
