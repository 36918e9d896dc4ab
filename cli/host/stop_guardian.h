// Continues labelscope if somebody stops it (SIGSTOP) while it holds a thread of a target. That
// must be another process, because a stopped one does nothing. ptrace/holding.h has the drawing.
//
// The guardian is a child of labelscope that executes no program. It has no rights, no terminal, no
// open files but the state of labelscope, and makes only system calls. It ends with labelscope,
// however that ends.
#pragma once

#include <sys/types.h>

#include "labelscope/result.h"
#include "ptrace/holding.h"

namespace labelscope::cli {

class StopGuardian {
 public:
  StopGuardian() = default;
  // Ends the guardian. No thread may be held by then.
  ~StopGuardian();
  StopGuardian(const StopGuardian&) = delete;
  StopGuardian& operator=(const StopGuardian&) = delete;

  // Starts the guardian. If there can be none, labelscope works without, and that is logged. Call
  // it on the main thread (the guardian ends with the thread that has started it), after labelscope
  // has taken on the user that it stays, and before it stops the first thread.
  void start();

 private:
  Status try_to_start();

  SharedHolds* holds_ = nullptr;
  pid_t pid_ = 0;
};

}  // namespace labelscope::cli
