// One thread held still by ptrace, for as long as the object lives, and let go whatever happens.
//
// PTRACE_SEIZE and PTRACE_INTERRUPT send no signal and leave no trace: a pending signal or a
// job-control stop stays what it was. If labelscope dies, the kernel detaches and the thread runs
// on (no PTRACE_O_EXITKILL). ptrace belongs to the calling thread: create, use and destroy a
// StoppedThread on the same thread. The kernel raises SIGCHLD in the calling process for each stop
// (not if it is ignored, or its handler has SA_NOCLDSTOP), and a waitpid() for any child may
// collect the answer: that does no harm.
//
// A thread that has not stopped by its deadline cannot be let go yet, because the kernel lets go of
// stopped threads only. It stays with the calling thread: each later stop() that waits and each
// settle() on that thread lets go of those that have stopped since, and so does the kernel when the
// calling thread ends. So whoever stops threads does it on a thread that either goes on doing so or
// ends soon.
//
// Where many wait for few processors, none would ever be found stopped who is let go of while
// another one is waited for. So stop() without patience does not wait and lets go of nobody: asked
// of all in turn, it finds each when it gets its processor.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "labelscope/ids.h"
#include "labelscope/registers.h"
#include "labelscope/result.h"

namespace labelscope {

class StoppedThread {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{1};

  // kVanished: the thread is gone, or has executed another program; kPermission: refused, with the
  // reason and what helps; kLimit: it did not stop in time, because it waits in the kernel for
  // something that nothing interrupts.
  static Result<StoppedThread> stop(Tid tid, std::chrono::nanoseconds patience = kPatience);
  // Why the kernel does not let us look into a thread, for whoever was refused something else than
  // a stop (its mappings, its memory): kPermission with the reason and what helps, or kVanished.
  static Error refusal(Tid tid);
  // One that stopped after its deadline, or has ended: to be given to stop() now, since it is held.
  // Nothing: none has. For a thread that starts no processes: it would hear of their ends here.
  static std::optional<Tid> late_stop();
  // Lets go of threads that stopped after their deadline; how many are still awaited.
  static std::size_t settle();
  // Of threads that the calling thread let go of in that way, the longest time for which one was
  // held, at most; then counts anew. Zero: there were none.
  static std::chrono::nanoseconds take_longest_late_stop();

  StoppedThread(StoppedThread&& other) noexcept;
  StoppedThread& operator=(StoppedThread&&) = delete;
  ~StoppedThread();

  // fs base (x86-64), TPIDR_EL0 (aarch64).
  Result<Address> thread_pointer() const;
  // The general registers, in DWARF order.
  Result<Registers> registers() const;
  // Whether it was stopped within a system call in which it waited, or had just done so: it was on
  // no processor, whatever its state said just before.
  bool was_waiting() const;
  // How long it has been held, at most.
  std::chrono::nanoseconds held() const;

 private:
  StoppedThread(Tid tid, Tid process, Clock::time_point since, int pending_signal)
      : tid_(tid), process_(process), pending_signal_(pending_signal), since_(since) {}
  Tid tid_;
  Tid process_;  // its process's first thread
  bool owned_ = true;
  int pending_signal_ = 0;  // delivered on detach: a signal that arrived as we stopped is not lost
  Clock::time_point since_;
};

}  // namespace labelscope
