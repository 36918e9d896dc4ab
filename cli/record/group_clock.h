// The kernel's clock of a whole cgroup. Where a recording has all processes of a group, and no
// others, what this clock has run is the recording's CPU time, taken otherwise: it also has that of
// processes which nobody has seen.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/process/cgroup_mounts.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

class GroupClock {
 public:
  // Returns the clock of the smallest group, with the groups below it, that has exactly these
  // processes, as far as they run, and their children; nothing if there is none. `proc` is where
  // the kernel shows processes.
  static std::optional<GroupClock> of(const std::set<Pid>& pids, const std::string& proc = "/proc");

  // How long its processes have run on processors, in nanoseconds; nothing once the group is gone.
  std::optional<std::uint64_t> used_ns() const;
  std::string folder() const { return mount_.folder + group_; }
  // Whether a process is in the group, or in one below it.
  bool has(Pid pid, const std::string& proc) const;

 private:
  GroupClock(CgroupMount mount, std::string group)
      : mount_(std::move(mount)), group_(std::move(group)) {}

  CgroupMount mount_;
  std::string group_;  // "/app"
};

// Whether a process is gone, or is a zombie.
bool has_ended(Pid pid, const std::string& proc);
// Nothing: the process is gone.
std::optional<Pid> parent_of(Pid pid, const std::string& proc);

}  // namespace labelscope::cli
