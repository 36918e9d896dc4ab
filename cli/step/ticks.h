// Wakes the calling thread out of waitpid() now and then: a program that does nothing that is of
// interest to its tracer makes no stops, and is to be looked at all the same.
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>

namespace labelscope::cli {

class Ticks {
 public:
  // From now on system calls of the calling thread end with EINTR once in each period, by a signal
  // whose handler does nothing. One object in a process at a time.
  explicit Ticks(std::chrono::nanoseconds period);
  ~Ticks();
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  timer_t timer_{};
  bool has_timer_ = false;
  struct sigaction before_ {};
};

}  // namespace labelscope::cli
