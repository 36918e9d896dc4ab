// For as long as a thread is held still, the one that holds it must not stop itself.
#pragma once

#include <sched.h>

#include <csignal>

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

}  // namespace labelscope
