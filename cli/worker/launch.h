// Starts the process of a worker.
//
// It executes labelscope itself (/proc/self/exe) rather than fork: a fork would have a copy of all
// memory of labelscope (what was read from other targets, and where everything lies), cost the more
// the more that is, and find the locks of other threads as they were at that moment. An executed
// worker knows nothing, and can be started again at any time for the same 20 ms. vfork() copies no
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
  UniqueFd socket;  // ours
};

// Tests have others.
using Launcher = std::function<Result<Launched>(std::uint64_t most_memory)>;

// For worker_main(): with one socket and no other descriptor, no environment, no terminal, and no
// rights to gain. `program` is an absolute path.
Result<Launched> launch_worker(const char* program, std::uint64_t most_memory);
Result<Launched> launch_own_worker(std::uint64_t most_memory);

}  // namespace labelscope::cli
