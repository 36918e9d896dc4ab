// Whether a process stands still because its control group is frozen, as `docker pause` does it.
#pragma once

#include <optional>
#include <string>

#include "labelscope/ids.h"

namespace labelscope::cli {

struct FrozenGroup {
  // The folder of the group that was frozen, which may be one above the process's own. Empty if it
  // cannot be seen from here, as from inside of a container.
  std::string folder;
  bool is_unified = true;  // version 2 of cgroups

  // A command that thaws it; empty if the folder is not known.
  std::string thaw() const;
  // Why a process of it does not run, and what lets it go on: "its control group ...".
  std::string reason() const;
};

// Returns nothing if it is not frozen, or if that is not known. `proc` is where the kernel shows
// processes.
std::optional<FrozenGroup> frozen_group_of(Pid pid, const std::string& proc = "/proc");

}  // namespace labelscope::cli
