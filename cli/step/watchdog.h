// Ends a stepped program when its time is over, or when the user asks for it. The tracer cannot do
// that itself: it may wait for a stop that never comes, or for memory that nobody supplies.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace labelscope::cli {

class Watchdog {
 public:
  enum class Reason { kNone, kTimeout, kCancelled };

  // The watchdog calls these on a thread of its own.
  struct Orders {
    std::function<bool()> cancelled;  // may be empty
    // Kills the program and all that it has started.
    std::function<void()> kill;
    // Tells why, and ends labelscope: the program was killed long ago, and the tracer has not
    // noticed. Must not return. Empty: the watchdog waits without a limit.
    std::function<void(const std::string& why)> give_up;
  };

  Watchdog(std::chrono::milliseconds timeout, Orders orders);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Why it has killed the program, if it has. Thread-safe.
  Reason reason() const { return reason_; }

 private:
  void watch(std::chrono::milliseconds timeout);

  Orders orders_;
  std::atomic<Reason> reason_{Reason::kNone};
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace labelscope::cli
