// Ends a program that is being stepped when its time is over or the user has had enough, while the
// tracer waits for a stop that may never come.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "labelscope/ids.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Watchdog {
 public:
  enum class Reason { kNone, kTimeout, kCancelled };

  // `cancelled` (may be empty) is asked on a thread of the watchdog's own. Of a process that is
  // not collected yet.
  Watchdog(Pid pid, std::chrono::milliseconds timeout, std::function<bool()> cancelled);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Why it has killed the program, if it has. Thread-safe.
  Reason reason() const { return reason_; }

 private:
  void watch(std::chrono::milliseconds timeout, const std::function<bool()>& cancelled);

  UniqueFd process_;
  std::atomic<Reason> reason_{Reason::kNone};
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace labelscope::cli
