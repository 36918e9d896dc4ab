#include "cli/process/cgroup_mounts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cli/process/cgroup.h"
#include "process/proc_fs.h"

namespace labelscope::cli {

std::vector<CgroupMount> cgroup_mounts(std::string_view controller, const std::string& proc) {
  std::vector<CgroupMount> all;
  for_each_mount(kernel_text(proc + "/self/mountinfo"), [&](const Mount& mount) {
    if (mount.root != "/") return;
    const bool is_unified = mount.type == "cgroup2";
    if (is_unified || (mount.type == "cgroup" && has_controller(mount.options, controller)))
      all.push_back({std::string(mount.folder), is_unified});
  });
  std::ranges::stable_partition(all, &CgroupMount::is_unified);
  return all;
}

std::vector<std::string> groups_up(const CgroupMount& mount, std::string_view controller,
                                   std::string_view groups_of_process) {
  std::vector<std::string> groups;
  std::string group = group_of_controller(
      groups_of_process, mount.is_unified ? std::string_view() : controller);
  for (; group.size() > 1 && group.starts_with('/'); group.erase(group.rfind('/')))
    groups.push_back(group);
  return groups;
}

std::string kernel_text(const std::string& path) {
  constexpr std::size_t kMostText = std::size_t{1} << 20;
  auto text = read_proc_file(path, kMostText);
  return text ? *std::move(text) : std::string();
}

}  // namespace labelscope::cli
