#include "cli/record/group_clock.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/process/cgroup_mounts.h"
#include "cli/process/proc_listing.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostGroups = 1024;
constexpr std::string_view kAccount = "cpuacct";  // the controller that counts, in version 1

std::string file_of(Pid pid, const char* name, const std::string& proc) {
  return kernel_text(ProcListing(proc).folder_of(pid) + name);
}

bool has_ended(Pid pid, const std::string& proc) {
  const std::string status = file_of(pid, "status", proc);
  const std::string_view state = status_field(status, "State");
  return state.empty() || labelscope::has_ended(state.front());
}

// Whether a wanted process has started it. The recording follows it then, and may not know it yet.
bool is_child(Pid pid, const std::set<Pid>& wanted, const std::string& proc) {
  const std::string status = file_of(pid, "status", proc);
  const auto parent = whole_number<std::int32_t>(status_field(status, "PPid"));
  return parent && wanted.contains(Pid{*parent});
}

// Adds the processes of a group and those below it. Returns false at one that is neither among
// `wanted` nor a child of these, or if there are too many groups.
bool collect(const std::filesystem::path& top, const std::set<Pid>& wanted, const std::string& proc,
             std::set<Pid>& found) {
  std::vector<std::filesystem::path> folders{top};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (folders.size() > kMostGroups) return false;
    std::istringstream pids(kernel_text(folders[i] / "cgroup.procs"));
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
  for (const CgroupMount& mount : cgroup_mounts(kAccount, proc)) {
    const auto alive = std::ranges::find_if(pids, [&](Pid pid) { return !has_ended(pid, proc); });
    if (alive == pids.end()) break;
    // The root has all processes of the machine.
    for (const std::string& group : groups_up(mount, kAccount, file_of(*alive, "cgroup", proc))) {
      std::set<Pid> found;
      // Larger groups have the same stranger.
      if (!collect(mount.folder + group, pids, proc, found)) break;
      const bool has_all = std::ranges::all_of(
          pids, [&](Pid pid) { return found.contains(pid) || has_ended(pid, proc); });
      if (found.empty() || !has_all) continue;
      GroupClock clock(mount.folder + group, mount.is_unified);
      if (clock.used_ns()) return clock;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> GroupClock::used_ns() const {
  const std::string text = kernel_text(folder_ + (is_unified_ ? "/cpu.stat" : "/cpuacct.usage"));
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
