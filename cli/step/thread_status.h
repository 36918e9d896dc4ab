// What /proc says of a thread that is being traced, and the kernel of its memory.
#pragma once

#include "labelscope/ids.h"

namespace labelscope::cli {

bool is_there(Tid tid);
// It catches this signal: its handler will run.
bool has_handler(Tid tid, int signal);
bool belongs_to(Tid tid, Pid process);
// It waits in the kernel for something that no signal interrupts.
bool is_uninterruptible(Tid tid);
// Its memory is sure to be another than the process's; false where the kernel does not tell.
bool has_own_memory(Tid tid, Pid process);

}  // namespace labelscope::cli
