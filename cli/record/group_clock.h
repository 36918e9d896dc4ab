// The kernel's clock of a whole cgroup. Where a recording has all processes of a group, and no
// others, what this clock has run is the recording's CPU time, taken otherwise: it also has that of
// processes which nobody has seen.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

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
  const std::string& folder() const { return folder_; }

 private:
  GroupClock(std::string folder, bool is_unified)
      : folder_(std::move(folder)), is_unified_(is_unified) {}

  std::string folder_;
  bool is_unified_;  // version 2 of cgroups
};

}  // namespace labelscope::cli
