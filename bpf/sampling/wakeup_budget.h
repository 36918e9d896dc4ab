// Decides how often user space lets itself be woken by what happens outside of the ring buffer.
//
// The tables of a program that has just begun are needed at once: many programs end within three
// milliseconds. But a compiler that makes code all the time reports hundreds of thousands of
// mappings a second, also in processes that are not sampled.
// So wake-ups are counted: a burst of 32 at once, and one for each millisecond later. One that was
// for nothing, because only other processes had mapped something, costs as much as 16: a busy
// machine wakes labelscope sixty times a second for that, and as often to wait for the next, and
// not a thousand times. A program that begins in the recording is worth a burst, once in 10 ms.
#pragma once

#include <algorithm>
#include <chrono>

namespace labelscope {

class WakeupBudget {
 public:
  using Clock = std::chrono::steady_clock;

  // Spends one wake-up. Returns false if none is left.
  bool spend(Clock::time_point now) {
    left_ = std::min(kMost, left_ + (now - last_) / kForOne);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

  // The wake-up that was spent last was for nothing.
  void waste() { left_ -= kWasted - 1; }

  // A program begins.
  void fill(Clock::time_point now) {
    if (now < next_fill_) return;
    next_fill_ = now + kBetweenFills;
    left_ = kMost;
  }

  // Returns how long it takes until the next one is there, after spend() has returned false.
  Clock::duration until_next() const {
    return std::chrono::ceil<Clock::duration>((1 - left_) * kForOne);
  }

 private:
  static constexpr double kMost = 32;  // a program with as many libraries loads them one by one
  static constexpr double kWasted = 16;
  static constexpr std::chrono::duration<double> kForOne = std::chrono::milliseconds(1);
  static constexpr std::chrono::milliseconds kBetweenFills{10};

  double left_ = 0;
  Clock::time_point last_;  // long ago
  Clock::time_point next_fill_;
};

}  // namespace labelscope
