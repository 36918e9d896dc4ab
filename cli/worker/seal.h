// How the worker gives up all that it could do to others, before it sees the first foreign byte.
//
// Whoever makes a file that libdw reads may find a fault in libdw. What that person has then is this
// process, so there is to be nothing in it:
//
//   rights      no capabilities, no new ones by executing (NoNewPrivs), the user "nobody" if we may
//   files       Landlock allows none (Linux 5.13), no call that opens one is left (seccomp)
//   others      no signal, no ptrace, no socket, no new process, no code that was not there (seccomp)
//   resources   memory, processor time, no files written, no core dump; it is the first to go when
//               memory is short (oom_score_adj)
//   the end     it dies with the thread that started it
//
// seccomp is what counts, and without it there is no worker. The rest is more of the same for the
// day on which one of them has a hole; what of it cannot be had here is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/result.h"

namespace labelscope::cli {

// What could not be given up, in words. An error: seccomp cannot be had. For a process with one
// thread; it must not be labelscope itself.
Result<std::vector<std::string>> seal_this_process(std::uint64_t most_memory);

}  // namespace labelscope::cli
