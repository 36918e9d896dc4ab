// For tests of threads that wait in the kernel and cannot be stopped. The parent of a vfork() waits
// like that until its child executes a program or ends.
#pragma once

#include "support/catch.h"

inline void skip_without_vfork() {
#if defined(__SANITIZE_THREAD__)
  skip_test("the thread sanitizer makes a fork() of each vfork()");
#endif
}
