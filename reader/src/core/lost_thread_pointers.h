// Thread pointers that a core file lost.
//
// Linux 5.9 to 5.15 on an x86-64 processor with FSGSBASE writes a core in which only the thread
// that died has a thread pointer; all others have 0. There, a thread that waits for the dump has
// already taken leave of its memory (exit_mm, mm_release, deactivate_mm), which clears its FS
// register, and since 5.9 the register itself is what is saved. Since 5.16 threads wait before they
// clean up anything (kernel commit 92307383082d).
//
// What the register pointed to is still there: the libc's thread control block, which begins with
// its own address, as the psABI asks, and holds the thread's ID. So it is looked for.
//
// Sources: glibc's nptl/descr.h and sysdeps/x86_64/nptl/tls.h (struct pthread, tcbhead_t); musl's
// src/internal/pthread_impl.h (struct pthread, 1.2).
#pragma once

#include <vector>

#include "core/core_layout.h"
#include "core/core_memory.h"
#include "labelscope/core_file.h"

namespace labelscope {

// Sets the thread pointers that are 0 to what is found, or to none: not found, or not within the
// first 256 MiB of writable memory, or found twice. Other threads are left alone.
void find_lost_thread_pointers(const std::vector<CoreSegment>& segments, const DumpedMemory& memory,
                               std::vector<CoreThread>& threads);

}  // namespace labelscope
