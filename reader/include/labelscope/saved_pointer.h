// The thread pointer that the kernel has saved for a process's first thread, and when it is right.
// BPF programs read it there without stopping the thread, so they must know.
//
// On aarch64 a program sets TPIDR_EL0 itself. The kernel saves it only when it takes the thread off
// its processor. Until then the saved value is the one from before: 0, or an earlier program's. A
// thread with a processor to itself may stay there for long. Other threads get their pointer from
// clone(), and a child of fork() has its parent's, so theirs is right from the start. On x86-64 a
// program asks the kernel to set it, so the kernel always knows.
#pragma once

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/result.h"

namespace labelscope {

inline constexpr bool kSavedPointerLags = kHostMachine == Machine::kAarch64;

enum class SavedPointer {
  kTrue,    // it is right, and stays so until the process executes another program
  kNotYet,  // the program has not set it, or the thread did not stop in time: ask again
};

// On aarch64, stops the first thread for a moment: then the kernel saves its pointer. kPermission:
// the kernel does not let us stop it; the error tells why. Works on a thread of its own, so it does
// not disturb what the caller traces.
//
// A program that musl's loader starts sets the pointer twice, within a millisecond. A caller that
// may have asked between the two asks once more, later.
Result<SavedPointer> refresh_saved_pointer(Pid pid);

}  // namespace labelscope
