// Notices when a read of a target's memory hangs. Without this watch a thread of the target might
// be held for ever, and the user might wait for ever.
//
// How a read hangs: the target's memory may be of a kind that another program must supply
// (userfaultfd), or in a file system that hangs. The kernel then waits without a limit. Only the
// end of labelscope, or of the target, interrupts that. Meanwhile labelscope cannot let go of a
// held thread, and does not take its signals (signals.h):
//
//   labelscope    stop thread | read memory ............ (hangs)
//   target        ............| held .................................|  runs on
//   HoldWatch                  look . look . look . remedy ... give_up: labelscope ends
//
// When labelscope ends, the kernel lets go of the thread.
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
// A request to stop (a signal) must have been taken after this time. labelscope takes signals fifty
// times a second, but not while it plans a large process.
inline constexpr std::chrono::seconds kLongestDeafness{10};

class HoldWatch {
 public:
  enum class Stuck {
    kHeld,  // a thread of the target was held for too long
    kDeaf,  // labelscope does not take a signal that asks it to stop
    kLate,  // labelscope goes on long after its time
  };
  struct Limits {
    // Returns another number for each stop of a thread; 0 while no thread is held. Thread-safe.
    std::function<std::uint64_t()> current_stop;
    std::chrono::nanoseconds max_stop{0};          // for how long a thread may be held on purpose
    std::optional<std::chrono::nanoseconds> time;  // for all work together; nullopt: no limit
    // Does something that may help, such as ending the target. Called once, when labelscope is
    // stuck for the first time; then it gets the same time again. May be empty.
    std::function<void()> remedy;
    // Tells why, and ends labelscope. Must not return.
    std::function<void(Stuck, const std::string& why)> give_up;
  };

  // Starts a thread that watches until the object is destroyed, and that calls the functions of
  // `limits`. Create it after the signals are blocked.
  explicit HoldWatch(Limits limits);
  ~HoldWatch();
  HoldWatch(const HoldWatch&) = delete;
  HoldWatch& operator=(const HoldWatch&) = delete;

  // Why the remedy was called; empty if it was not. Thread-safe.
  std::string trouble() const;

 private:
  // Counted in looks of the watch.
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
