// This finds the processes that a process has started.
#pragma once

#include <vector>

#include "labelscope/ids.h"
#include "labelscope/target.h"

namespace labelscope {

// Returns children that exist now, zombies included, started by any of the process's threads.
// Returns none if the process has ended.
std::vector<Pid> child_processes(const LiveProcess& process);

}  // namespace labelscope
