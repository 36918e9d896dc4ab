// Ends labelscope where it does not get on with a target's memory, so that no thread of the target
// is held for ever.
//
// A read of memory that nobody supplies (userfaultfd, a file system that hangs) waits in the kernel
// without a limit, and only the end of the process that reads interrupts it. Meanwhile a thread of
// the target may be held, and nobody takes the signals that are events here (signals.h). With the
// end of labelscope the kernel lets go of the thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "labelscope/sampler.h"

namespace labelscope::cli {

class HoldWatch {
 public:
  // On a thread of its own, until it is destroyed. `sampler` must live as long. `max_stop`: for how
  // long a thread may be held on purpose. Made when the signals are blocked.
  HoldWatch(const Sampler& sampler, std::chrono::nanoseconds max_stop);
  ~HoldWatch();
  HoldWatch(const HoldWatch&) = delete;
  HoldWatch& operator=(const HoldWatch&) = delete;

 private:
  void watch(const Sampler& sampler, int longest_hold);

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace labelscope::cli
