// Starts the process of a worker.
//
// It executes labelscope itself (/proc/self/exe) instead of only forking. A fork would have a copy
// of all memory of labelscope (with data from other targets, and all addresses), would take longer
// the larger that memory is, and would inherit the locks of other threads in any state. An executed
// worker knows nothing, and can be started again at any time in the same 20 ms. vfork() copies no
// page tables for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

struct Launched {
  pid_t pid = 0;
  UniqueFd socket;  // our end
};

// Tests use other launchers.
using Launcher = std::function<Result<Launched>(std::uint64_t most_memory)>;

// Starts a process that calls worker_main(), with one socket and no other descriptor, no
// environment, no terminal, and no way to gain rights. `program` is an absolute path.
Result<Launched> launch_worker(const char* program, std::uint64_t most_memory);
Result<Launched> launch_own_worker(std::uint64_t most_memory);

}  // namespace labelscope::cli
