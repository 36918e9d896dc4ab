// Where control groups are mounted, and what the kernel says in their files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace labelscope::cli {

struct CgroupMount {
  std::string folder;
  bool is_unified = false;  // version 2 of cgroups, which has all controllers
};

// Those that have this controller, version 2 first. Of a group that is mounted itself, the paths of
// processes do not say what is below it, so only whole hierarchies count. `proc` is where the
// kernel shows processes.
std::vector<CgroupMount> cgroup_mounts(std::string_view controller, const std::string& proc);

// The path of a process's group, and those of the groups above it, without the root.
std::vector<std::string> groups_up(const CgroupMount& mount, std::string_view controller,
                                   std::string_view groups_of_process);

// Returns the text of a file of /proc or of a group; empty if it cannot be read.
std::string kernel_text(const std::string& path);

}  // namespace labelscope::cli
