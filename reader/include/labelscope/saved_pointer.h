// The thread pointer that the kernel has saved for a process's first thread. Whoever takes it from
// the kernel, and does not stop the thread, must know when it is true.
//
// On aarch64 a program sets TPIDR_EL0 itself, and the kernel notices when it takes the thread off a
// processor. Until then the saved value is what was there before: 0, or an earlier program's. A
// thread with a processor to itself stays there for as long as it likes. Other threads get their
// pointer from clone(), and a child of fork() has its parent's, so theirs is true from the start.
// On x86-64 the kernel is asked to set it, and always knows.
#pragma once

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/result.h"

namespace labelscope {

inline constexpr bool kSavedPointerLags = kHostMachine == Machine::kAarch64;

enum class SavedPointer {
  kTrue,    // and stays so until the process executes another program
  kNotYet,  // the program has not set it, or the thread did not stop in time: ask again
};

// Where it may lag, stops the first thread for a moment, which has the kernel save what it has.
// kPermission: it may not be stopped, and why. On a thread of its own: whatever the caller traces
// stays as it is.
//
// A program that musl's loader starts sets it twice, within a millisecond; whoever might have come
// between asks once more, later.
Result<SavedPointer> refresh_saved_pointer(Pid pid);

}  // namespace labelscope
