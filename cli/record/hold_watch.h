// Notices where labelscope does not get on with a target's memory, so that no thread of the target
// is held for ever and no user waits for ever.
//
// A read of memory that nobody supplies (userfaultfd, a file system that hangs) waits in the kernel
// without a limit, and only the end of the process that reads interrupts it, or of the one whose
// memory it is. Meanwhile a thread of the target may be held, and nobody takes the signals that are
// events here (signals.h). With the end of labelscope the kernel lets go of the thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace labelscope::cli {

// The cause, for messages.
inline constexpr std::string_view kUnsuppliedMemory =
    "memory of the target that is read is supplied by nobody (userfaultfd, or a file system that "
    "hangs)";
// For how long nothing may come of a request to stop. Signals are taken fifty times a second, but
// for when a large process is planned.
inline constexpr std::chrono::seconds kLongestDeafness{10};

class HoldWatch {
 public:
  enum class Stuck {
    kHeld,  // a thread of the target was held for too long
    kDeaf,  // a signal that is to stop labelscope is not taken
    kLate,  // it goes on long after its time
  };
  struct Limits {
    // Another number for each stop of a thread, 0 where none goes on. Thread-safe.
    std::function<std::uint64_t()> current_stop;
    std::chrono::nanoseconds max_stop{0};          // for how long a thread may be held on purpose
    std::optional<std::chrono::nanoseconds> time;  // for the whole; nullopt: no limit
    // May help, such as ending the target. Called once, when it is stuck for the first time; then
    // it has as long again. May be empty.
    std::function<void()> remedy;
    // Ends labelscope, having said why. It must not return.
    std::function<void(Stuck, const std::string& why)> give_up;
  };

  // On a thread of its own, until it is destroyed; `limits` are called there. Made when the signals
  // are blocked.
  explicit HoldWatch(Limits limits);
  ~HoldWatch();
  HoldWatch(const HoldWatch&) = delete;
  HoldWatch& operator=(const HoldWatch&) = delete;

  // Why the remedy was called; empty if it was not. Thread-safe.
  std::string trouble() const;

 private:
  // In looks of the watch.
  struct Counts {
    std::uint64_t hold = 0;  // the stop that `held` is about
    std::int64_t held = 0;
    std::int64_t deaf = 0;
    std::int64_t all = 0;
  };
  struct Finding {
    Stuck stuck;
    std::string why;
  };
  void watch();
  std::optional<Finding> look(Counts& counts) const;

  Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace labelscope::cli
