// A StoppedThread holds one thread still by ptrace for as long as the object lives, and lets it go
// whatever happens.
//
// PTRACE_SEIZE and PTRACE_INTERRUPT send no signal and leave no trace: a pending signal and a
// job-control stop stay what they were. If labelscope dies, the kernel detaches and the thread runs
// on (no PTRACE_O_EXITKILL). ptrace belongs to the calling thread: create, use and destroy a
// StoppedThread on the same thread. For each stop the kernel raises SIGCHLD in the calling process,
// unless that ignores it or its handler has SA_NOCLDSTOP. A waitpid() for any child may collect the
// report of a stop; that does no harm.
//
// The hard part is a thread that does not stop in time. The kernel can detach from stopped threads
// only, so this one stays seized: it is "awaited". When it does stop, it stands still until this
// thread lets it go:
//
//     stop(A)          deadline: kLimit                          settle()
//     |                |                                         |
//   --- A runs, sleeps, or waits for a processor ---|--- A is held ---|--- A runs on --->
//                                                   A stops
//
// Each later stop() with patience and each settle() lets go of the awaited threads that have
// stopped since. The kernel lets go of them when the calling thread ends. So stop threads only on a
// thread that goes on stopping others, or that ends soon.
//
// On a busy machine, releasing A while waiting for B means that A is never caught: A stops only
// when it gets a processor, and at that moment the caller waits for B. So stop() without patience
// neither waits nor releases others. A caller that asks for all threads in turn catches each of
// them when it gets a processor.
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

  // Fails with kVanished if the thread has ended, or has executed another program; with kPermission
  // if the kernel refuses, and then the error has the reason and what helps; and with kLimit if the
  // thread did not stop in time: it waits for a processor, or in the kernel for something that
  // nothing interrupts.
  static Result<StoppedThread> stop(Tid tid, std::chrono::nanoseconds patience = kPatience);
  // Returns why the kernel does not let labelscope look into a thread, after it has `refused`
  // something other than a stop (its mappings, its memory): kPermission with the reason and what
  // helps. If the thread has ended since, the reason cannot be found out, and the error is
  // `refused` itself.
  static Error refusal(Tid tid, Error refused);
  // Returns an awaited thread that has stopped or ended, or nothing if there is none. It may be
  // held, so give it to stop() now. This is meant for a calling thread without child processes:
  // while it has not collected the end of one, this sees that first, and finds an awaited thread
  // only 10 ms later.
  static std::optional<Tid> late_stop();
  // Lets go of the awaited threads that have stopped. Returns how many are still awaited.
  static std::size_t settle();
  // Returns an upper bound for how long such a thread was held: the longest time since the last
  // call, among those that this calling thread let go of. It is zero if there were none.
  static std::chrono::nanoseconds take_longest_late_stop();

  StoppedThread(StoppedThread&& other) noexcept;
  StoppedThread& operator=(StoppedThread&&) = delete;
  ~StoppedThread();

  // Returns fs base (x86-64) or TPIDR_EL0 (aarch64).
  Result<Address> thread_pointer() const { return thread_pointer_of(tid_); }
  // Does the same for a thread that the calling thread has stopped in another way.
  static Result<Address> thread_pointer_of(Tid tid);
  // Returns the general registers, in DWARF order.
  Result<Registers> registers() const { return registers_of(tid_); }
  // Does the same for a thread that the calling thread has stopped in another way.
  static Result<Registers> registers_of(Tid tid);
  // Returns whether it stopped in a system call in which it waited, or right after one. Then it was
  // on no processor, whatever its state was just before.
  bool was_waiting() const;
  // Returns an upper bound for how long it has been held.
  std::chrono::nanoseconds held() const;

 private:
  StoppedThread(Tid tid, Tid process, Clock::time_point since, int pending_signal)
      : tid_(tid), process_(process), pending_signal_(pending_signal), since_(since) {}
  Tid tid_;
  Tid process_;  // the first thread of its process
  bool owned_ = true;
  int pending_signal_ = 0;  // arrived with the stop; the detach delivers it
  Clock::time_point since_;
};

}  // namespace labelscope
