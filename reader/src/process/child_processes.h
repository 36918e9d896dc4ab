// This finds the processes that a process has started.
#pragma once

#include <cstddef>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/target.h"

namespace labelscope {

// Returns about how many processes the machine has.
std::size_t count_of_processes();

// Returns children that exist now, zombies included, started by any of the process's threads.
// Returns none if the process has ended. `processes` decides how they are found: by the threads of
// the process, or by the parent of each process of the machine if these are fewer.
std::vector<Pid> child_processes(const LiveProcess& process,
                                 std::size_t processes = count_of_processes());

}  // namespace labelscope
