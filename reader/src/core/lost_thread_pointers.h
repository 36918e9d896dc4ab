// This finds thread pointers that a core file has lost.
//
// The problem: Linux 5.9 to 5.15 on an x86-64 processor with FSGSBASE writes cores in which only
// the thread that died has a thread pointer. All others have 0. The reason: while they wait for the
// dump, they have already given up their memory (exit_mm, mm_release, deactivate_mm), which clears
// their FS register; and since 5.9 the kernel saves the register itself. Since 5.16 threads wait
// before they clean up (kernel commit 92307383082d).
//
// The solution: the register is lost, but the thread control block to which it pointed is still in
// memory. It begins with its own address (the psABI requires that), and libc keeps the thread's ID
// in it. So the memory is searched for such blocks:
//
//   address A:   [ A | dtv | ... | thread ID | ... ]   --> the thread pointer of this thread is A
//
// Sources: glibc's nptl/descr.h and sysdeps/x86_64/nptl/tls.h (struct pthread, tcbhead_t); musl's
// src/internal/pthread_impl.h (struct pthread, 1.2).
#pragma once

#include <vector>

#include "core/core_layout.h"
#include "core/core_memory.h"
#include "labelscope/core_file.h"

namespace labelscope {

// Replaces thread pointers that are 0 by the address that was found, or by none, if there is none
// in the first 256 MiB of writable memory, or more than one. Other threads are not changed.
void find_lost_thread_pointers(const std::vector<CoreSegment>& segments, const DumpedMemory& memory,
                               std::vector<CoreThread>& threads);

}  // namespace labelscope
