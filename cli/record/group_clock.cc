#include "cli/record/group_clock.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/process/proc_listing.h"
#include "cli/record/group_members.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kAccount = "cpuacct";  // the controller that counts, in version 1

std::string file_of(Pid pid, const char* name, const std::string& proc) {
  return kernel_text(ProcListing(proc).folder_of(pid) + name);
}

// Finds the processes of a group and those below it. Returns false at one that is neither among
// `wanted` nor a child of these, or if there are too many groups. The recording follows a child,
// and may not know it yet.
bool collect(const std::string& folder, const std::set<Pid>& wanted, const std::string& proc,
             std::set<Pid>& found) {
  const auto members = processes_of_group(folder);
  if (!members) return false;
  for (const Pid pid : *members) {
    if (wanted.contains(pid)) {
      found.insert(pid);
      continue;
    }
    const auto parent = parent_of(pid, proc);
    const bool is_child = parent && wanted.contains(*parent);
    if (!is_child && !has_ended(pid, proc)) return false;
  }
  return true;
}

}  // namespace

bool has_ended(Pid pid, const std::string& proc) {
  const std::string status = file_of(pid, "status", proc);
  const std::string_view state = status_field(status, "State");
  return state.empty() || labelscope::has_ended(state.front());
}

std::optional<Pid> parent_of(Pid pid, const std::string& proc) {
  const std::string status = file_of(pid, "status", proc);
  const auto parent = whole_number<std::int32_t>(status_field(status, "PPid"));
  return parent ? std::optional(Pid{*parent}) : std::nullopt;
}

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
      GroupClock clock(mount, group);
      if (clock.used_ns()) return clock;
    }
  }
  return std::nullopt;
}

bool GroupClock::has(Pid pid, const std::string& proc) const {
  const auto groups = groups_up(mount_, kAccount, file_of(pid, "cgroup", proc));
  return std::ranges::find(groups, group_) != groups.end();
}

std::optional<std::uint64_t> GroupClock::used_ns() const {
  const std::string text = kernel_text(folder() + (mount_.is_unified ? "/cpu.stat" : "/cpuacct.usage"));
  std::string_view number = text;
  constexpr std::string_view kUsage = "usage_usec ";
  if (mount_.is_unified) {
    const std::size_t at = number.find(kUsage);
    if (at == std::string_view::npos) return std::nullopt;
    number.remove_prefix(at + kUsage.size());
  }
  std::uint64_t used = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), used);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return mount_.is_unified ? used * 1000 : used;
}

}  // namespace labelscope::cli
