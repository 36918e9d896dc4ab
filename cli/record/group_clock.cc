// A line of /proc/PID/cgroup is "hierarchy:controllers:path", and one of /proc/self/mountinfo ends
// with "... ROOT FOLDER OPTIONS - TYPE SOURCE CONTROLLERS".
#include "cli/record/group_clock.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::size_t kMostGroups = 1024;

// Where a hierarchy is mounted that counts CPU time.
struct Hierarchy {
  std::string folder;
  bool is_unified = false;
};

std::string text_of(const std::string& path) {
  auto text = read_proc_file(path, kMostText);
  return text ? *std::move(text) : std::string();
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == word) return true;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return false;
}

std::vector<Hierarchy> hierarchies(const std::string& proc) {
  std::vector<Hierarchy> all;
  std::istringstream text(text_of(proc + "/self/mountinfo"));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string skipped;
    std::string root;
    std::string folder;
    words >> skipped >> skipped >> skipped >> root >> folder;
    while (words >> skipped && skipped != "-") {
    }
    std::string type;
    std::string controllers;
    words >> type >> skipped >> controllers;
    // Of a group that is mounted itself, the paths of processes do not say what is below it.
    if (root != "/") continue;
    if (type == "cgroup2") all.push_back({folder, true});
    if (type == "cgroup" && has_word(controllers, "cpuacct")) all.push_back({folder, false});
  }
  std::ranges::stable_partition(all, &Hierarchy::is_unified);
  return all;
}

std::string group_of(Pid pid, bool is_unified, const std::string& proc) {
  std::istringstream text(text_of(proc + "/" + std::to_string(raw(pid)) + "/cgroup"));
  for (std::string line; std::getline(text, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (is_unified ? line.starts_with("0::") : has_word(controllers, "cpuacct"))
      return line.substr(second + 1);
  }
  return {};
}

// Returns what /proc/PID/status has behind this word; nothing if the process is gone.
std::string status_of(Pid pid, std::string_view word, const std::string& proc) {
  std::istringstream text(text_of(proc + "/" + std::to_string(raw(pid)) + "/status"));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(word)) continue;
    const std::size_t at = line.find_first_not_of(" \t", word.size());
    return at == std::string::npos ? std::string() : line.substr(at);
  }
  return {};
}

bool has_ended(Pid pid, const std::string& proc) {
  const std::string state = status_of(pid, "State:", proc);
  return state.empty() || state.starts_with('Z') || state.starts_with('X');
}

// Whether a wanted process has started it. The recording follows it then, and may not know it yet.
bool is_child(Pid pid, const std::set<Pid>& wanted, const std::string& proc) {
  const std::string parent = status_of(pid, "PPid:", proc);
  std::int32_t number = 0;
  std::from_chars(parent.data(), parent.data() + parent.size(), number);
  return wanted.contains(Pid{number});
}

// Adds the processes of a group and those below it. Returns false at one that is neither among
// `wanted` nor a child of these, or if there are too many groups.
bool collect(const std::filesystem::path& top, const std::set<Pid>& wanted, const std::string& proc,
             std::set<Pid>& found) {
  std::vector<std::filesystem::path> folders{top};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (folders.size() > kMostGroups) return false;
    std::istringstream pids(text_of(folders[i] / "cgroup.procs"));
    for (std::int32_t pid = 0; pids >> pid;) {
      if (wanted.contains(Pid{pid})) {
        found.insert(Pid{pid});
      } else if (!is_child(Pid{pid}, wanted, proc) && !has_ended(Pid{pid}, proc)) {
        return false;
      }
    }
    std::error_code gone;
    std::filesystem::directory_iterator entry(folders[i], gone);
    for (; !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
      std::error_code none;
      if (entry->is_directory(none) && !entry->is_symlink(none)) folders.push_back(entry->path());
    }
  }
  return true;
}

}  // namespace

std::optional<GroupClock> GroupClock::of(const std::set<Pid>& pids, const std::string& proc) {
  if (pids.empty()) return std::nullopt;
  for (const Hierarchy& hierarchy : hierarchies(proc)) {
    const auto alive = std::ranges::find_if(pids, [&](Pid pid) { return !has_ended(pid, proc); });
    if (alive == pids.end()) break;
    std::string group = group_of(*alive, hierarchy.is_unified, proc);
    // The root has all processes of the machine.
    for (; group.size() > 1 && group.starts_with('/'); group.erase(group.rfind('/'))) {
      std::set<Pid> found;
      // Larger groups have the same stranger.
      if (!collect(hierarchy.folder + group, pids, proc, found)) break;
      const bool has_all = std::ranges::all_of(
          pids, [&](Pid pid) { return found.contains(pid) || has_ended(pid, proc); });
      if (found.empty() || !has_all) continue;
      GroupClock clock(hierarchy.folder + group, hierarchy.is_unified);
      if (clock.used_ns()) return clock;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> GroupClock::used_ns() const {
  const std::string text = text_of(folder_ + (is_unified_ ? "/cpu.stat" : "/cpuacct.usage"));
  std::string_view number = text;
  constexpr std::string_view kUsage = "usage_usec ";
  if (is_unified_) {
    const std::size_t at = number.find(kUsage);
    if (at == std::string_view::npos) return std::nullopt;
    number.remove_prefix(at + kUsage.size());
  }
  std::uint64_t used = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), used);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return is_unified_ ? used * 1000 : used;
}

}  // namespace labelscope::cli
