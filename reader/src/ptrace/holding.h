// While labelscope holds a thread, nothing must stop labelscope: the held thread would wait with
// it. The kernel lets go of a thread only when its tracer runs, or has ended.
//
// Ctrl-Z can be blocked for the moment. SIGSTOP cannot, but another process can undo it. That is
// the guardian, which the command line starts (cli/host/stop_guardian.h). SIGSTOP has its effect
// all the same, a moment later, when no thread is held:
//
//   labelscope  hold thread ..| stopped ...|.. let go | stops itself | ...
//   guardian                     look  look: SIGCONT
//                    SIGSTOP ^                                 SIGCONT ^
//
// A program that uses the reader as a library has no guardian, and no child process that it has not
// started.
#pragma once

#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>

#include "labelscope/result.h"

namespace labelscope {

// What this process and its guardian tell each other, in memory that they share.
struct SharedHolds {
  std::atomic<std::uint32_t> current{0};  // how many parts of the program may hold a thread now
  // This process sets it when the guardian has continued it, and takes it back when somebody else
  // does.
  std::atomic<bool> was_continued{false};
};
// From now on `holds` shows whether something is held, and this process stops itself where the
// guardian has continued it. Call this while nothing is held; null ends it.
void share_holds(SharedHolds* holds);

// While a Hold lives, the guardian takes it that this process holds a thread, or soon will: a
// thread that is seized and was interrupted stops when it comes to that, which may be later than
// anybody waits for it.
class Hold {
 public:
  Hold();
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

// While this object lives, the calling thread gets no Ctrl-Z, which would stop labelscope, and the
// held thread with it, for as long as the user likes. And if the kernel allows it (CAP_SYS_NICE),
// the thread has precedence over programs that would otherwise have a processor for some
// milliseconds while the target waits. If the kernel does not allow that, sleeps at least end on
// time (they are stretched by 50 us otherwise).
class Holding {
 public:
  // With kThreadEnds, the kernel lets go of what is still held when this thread ends. The guardian
  // knows of the thread by run_on_own_thread().
  enum class Until { kDestroyed, kThreadEnds };
  explicit Holding(Until until = Until::kDestroyed);
  ~Holding();
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  Until until_;
  sigset_t signals_before_{};
  int policy_before_ = 0;
  sched_param priority_before_{};
  std::optional<Hold> hold_;
  bool raised_ = false;
  int timer_slack_before_ = 0;  // 0 if it was not changed
};

// While this object lives, it marks that a thread is held. A watchdog on another thread reads that.
class MarkedStop {
 public:
  // `number` is different for each stop, and not 0. `current` is null if there is no watchdog.
  MarkedStop(std::atomic<std::uint64_t>* current, std::uint64_t number) : current_(current) {
    if (current_ != nullptr) *current_ = number;
  }
  ~MarkedStop() {
    if (current_ != nullptr) *current_ = 0;
  }
  MarkedStop(const MarkedStop&) = delete;
  MarkedStop& operator=(const MarkedStop&) = delete;

 private:
  std::atomic<std::uint64_t>* current_;
};

// Runs work on a thread of its own. ptrace belongs to a thread: when this one ends, the kernel lets
// go of everything that it has seized.
//
// The new thread gets no signals, because the program's signal handlers expect to run on other
// threads. The calling thread gets them as before: so Ctrl-C still ends a program whose read hangs.
// But it does not get Ctrl-Z, which would stop labelscope while it holds a thread, and to the
// guardian the work counts as a hold. The function throws what `work` throws.
Status run_on_own_thread(const std::function<void()>& work);

}  // namespace labelscope
