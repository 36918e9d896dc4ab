#include "cli/process/frozen_group.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/process/cgroup_mounts.h"
#include "cli/process/proc_listing.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kFreezer = "freezer";  // the controller of version 1

bool has_line(std::string_view text, std::string_view line) {
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find('\n'));
    if (first == line) return true;
    text.remove_prefix(std::min(first.size() + 1, text.size()));
  }
  return false;
}

// A group is frozen with all groups below it.
bool is_frozen(const std::string& folder, bool is_unified) {
  return is_unified ? has_line(kernel_text(folder + "/cgroup.events"), "frozen 1")
                    : has_line(kernel_text(folder + "/freezer.state"), "FROZEN");
}

bool was_frozen_itself(const std::string& folder, bool is_unified) {
  return has_line(kernel_text(folder + (is_unified ? "/cgroup.freeze" : "/freezer.self_freezing")),
                  "1");
}

// The kernel's function in which a frozen thread waits.
bool waits_frozen(const std::string& wchan) {
  return wchan == "do_freezer_trap" || wchan == "__refrigerator";
}

}  // namespace

std::string FrozenGroup::thaw() const {
  if (folder.empty()) return {};
  return is_unified ? "echo 0 >" + folder + "/cgroup.freeze"
                    : "echo THAWED >" + folder + "/freezer.state";
}

std::string FrozenGroup::reason() const {
  return "its control group does not let it run (docker unpause, or " +
         (folder.empty() ? "as it was frozen" : thaw()) + ")";
}

std::optional<FrozenGroup> frozen_group_of(Pid pid, const std::string& proc) {
  const std::string own = ProcListing(proc).folder_of(pid);
  const std::string groups = kernel_text(own + "cgroup");
  for (const CgroupMount& mount : cgroup_mounts(kFreezer, proc)) {
    const std::vector<std::string> up = groups_up(mount, kFreezer, groups);
    if (up.empty() || !is_frozen(mount.folder + up.front(), mount.is_unified)) continue;
    const auto itself = std::ranges::find_if(up, [&](const std::string& group) {
      return was_frozen_itself(mount.folder + group, mount.is_unified);
    });
    return FrozenGroup{mount.folder + (itself == up.end() ? up.front() : *itself),
                       mount.is_unified};
  }
  if (waits_frozen(kernel_text(own + "wchan"))) return FrozenGroup{};
  return std::nullopt;
}

}  // namespace labelscope::cli
