// This finds out whether the thread pointer that the kernel has saved for a process's first thread
// is right. BPF programs read it there without stopping the thread, so they must know that.
//
// On aarch64 a program sets TPIDR_EL0 itself. The kernel saves it only when it takes the thread off
// its processor. Until then the saved value is an old one: 0, or an earlier program's. A thread
// that has a processor to itself may stay there for long. Other threads get their pointer from
// clone(), and a child of fork() has its parent's, so theirs is right from the start. On x86-64 a
// program asks the kernel to set it, so the kernel always knows.
#pragma once

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/result.h"

namespace labelscope {

inline constexpr bool kSavedPointerLags = kHostMachine == Machine::kAarch64;

enum class SavedPointer {
  kTrue,    // it is right until the process executes another program
  kNotYet,  // the program has not set it, or the thread did not stop in time; ask again
};

// On aarch64, this stops the first thread for a moment, so that the kernel saves its pointer. It
// fails with kPermission if the kernel does not let labelscope stop the thread; the error has the
// reason. It works on a thread of its own, so it does not disturb what the caller traces.
//
// A program that musl's loader starts sets the pointer twice, within a millisecond. A caller that
// may have asked between the two must ask once more, later.
Result<SavedPointer> refresh_saved_pointer(Pid pid);

}  // namespace labelscope
