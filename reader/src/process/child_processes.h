// Which processes a process has started.
#pragma once

#include <vector>

#include "labelscope/ids.h"
#include "labelscope/target.h"

namespace labelscope {

// Children that exist now, zombies included, started by any of the process's threads. None, if it
// has ended.
std::vector<Pid> child_processes(const LiveProcess& process);

}  // namespace labelscope
