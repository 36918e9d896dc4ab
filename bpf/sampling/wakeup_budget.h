// Decides how often user space lets itself be woken by what happens outside of the ring buffer.
//
// The tables of a program that has just begun are needed at once: many programs end within three
// milliseconds. But a compiler that makes code all the time reports hundreds of thousands of
// mappings a second, also in processes that are not sampled.
// So wake-ups are counted: a burst of 32 at once, and one for each millisecond later.
#pragma once

#include <algorithm>
#include <chrono>

namespace labelscope {

class WakeupBudget {
 public:
  using Clock = std::chrono::steady_clock;

  // Spends one wake-up. Returns false if none is left.
  bool spend(Clock::time_point now) {
    constexpr double kMost = 32;  // a program with as many libraries loads them one by one
    constexpr std::chrono::duration<double> kForOne = std::chrono::milliseconds(1);
    left_ = std::min(kMost, left_ + (now - last_) / kForOne);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double left_ = 0;
  Clock::time_point last_;  // long ago
};

}  // namespace labelscope
