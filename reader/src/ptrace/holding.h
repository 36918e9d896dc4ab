// For as long as a thread is held still, the one that holds it must not stop itself.
#pragma once

#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>

#include "labelscope/result.h"

namespace labelscope {

// Of the calling thread, while it lives: no Ctrl-Z, which would stop a held thread with us for as
// long as the user likes; and, where the kernel allows it (CAP_SYS_NICE), precedence over programs
// that would otherwise have a processor for some milliseconds while the target waits for us. Where
// it does not, sleeps at least end on time (they are stretched by 50 us otherwise).
class Holding {
 public:
  // kThreadEnds: what is still held then is let go by the kernel, as soon as this thread gets
  // there.
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
  bool raised_ = false;
  int timer_slack_before_ = 0;  // 0: it was not changed
};

// Says, as long as the object lives, that a thread is held. Another thread watches that.
class MarkedStop {
 public:
  // `number`: different for each stop, and not 0. `current` is null if nobody watches.
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
// But it does not get Ctrl-Z, which would stop us while we hold a thread. Throws what `work`
// throws.
Status run_on_own_thread(const std::function<void()>& work);

}  // namespace labelscope
