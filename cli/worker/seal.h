// This is how the worker gives up all power over others, before it reads the first foreign byte.
//
// The author of a file may know a fault in libdw, and take control of the process that reads the
// file. So that process is the worker, and there must be nothing of value in it:
//
//   rights      no capabilities, no new ones by executing (NoNewPrivs), the user "nobody" if we may
//   files       Landlock allows none (Linux 5.13), no call that opens one is left (seccomp)
//   others      no signal, no ptrace, no socket, no new process, no code that was not there
//               (seccomp)
//   resources   memory, processor time, no files written, no core dump; it is the first to be
//               killed when memory is short (oom_score_adj)
//   the end     it dies with the thread that started it
//
// seccomp is what counts, and without it there is no worker. The rest is a second line, for the
// case that one of them has a hole. Parts of it that this machine does not support are reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/result.h"

namespace labelscope::cli {

// Returns what could not be given up, in words. Fails if seccomp is not available. The process must
// have one thread, and must not be labelscope itself.
Result<std::vector<std::string>> seal_this_process(std::uint64_t most_memory);

}  // namespace labelscope::cli
