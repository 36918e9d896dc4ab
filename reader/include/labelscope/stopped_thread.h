// One thread held still by ptrace, for as long as the object lives, and let go whatever happens.
//
// PTRACE_SEIZE and PTRACE_INTERRUPT send no signal and leave no trace: a pending signal or a
// job-control stop stays what it was. If labelscope dies, the kernel detaches and the thread runs
// on (no PTRACE_O_EXITKILL). ptrace belongs to the calling thread: create, use and destroy a
// StoppedThread on the same thread.
#pragma once

#include <chrono>

#include "labelscope/ids.h"
#include "labelscope/registers.h"
#include "labelscope/result.h"

namespace labelscope {

class StoppedThread {
 public:
  // kVanished: the thread is gone; kPermission: refused (missing CAP_SYS_PTRACE, yama, or already
  // traced).
  static Result<StoppedThread> stop(Tid tid);
  StoppedThread(StoppedThread&& other) noexcept;
  StoppedThread& operator=(StoppedThread&&) = delete;
  ~StoppedThread();

  // fs base (x86-64), TPIDR_EL0 (aarch64).
  Result<Address> thread_pointer() const;
  // The general registers, in DWARF order.
  Result<Registers> registers() const;
  // How long it has been held.
  std::chrono::nanoseconds held() const;

 private:
  StoppedThread(Tid tid, std::chrono::steady_clock::time_point since) : tid_(tid), since_(since) {}
  Tid tid_;
  bool owned_ = true;
  int pending_signal_ = 0;  // delivered on detach: a signal that arrived as we stopped is not lost
  std::chrono::steady_clock::time_point since_;
};

}  // namespace labelscope
