// Ends what takes too long. A thread of its own looks several times a second, because labelscope
// cannot do that itself: it may wait for a stop that never comes, or hang in a read of the target's
// memory.
//
// How a read hangs: the target's memory may be of a kind that another program must supply
// (userfaultfd), or in a file system that hangs. The kernel then waits without a limit. Only the
// end of labelscope, or of the target, interrupts that. Meanwhile labelscope cannot let go of a
// held thread, and does not take its signals (signals.h):
//
//   labelscope    stop thread | read memory ............ (hangs)
//   target        ............| held .................................|  runs on
//   Watchdog                   look . look . look . remedy ... give_up: labelscope ends
//
// When labelscope ends, the kernel lets go of the thread.
//
// It also sees a thread of labelscope that has waited for long in one call for a file or memory,
// held threads or not (stuck_threads.h).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/host/log.h"
#include "cli/host/stuck_threads.h"

namespace labelscope::cli {

class Watchdog {
 public:
  enum class Reason {
    kNone,
    kCancelled,  // the user asked for the end
    kTimeout,    // the time is over
    kHeld,
    kDeaf,   // labelscope does not take a signal that asks it to stop
    kLate,   // labelscope goes on long after its time, or after the remedy
    kStuck,  // a thread of labelscope waits for a file or memory that nobody supplies
  };
  // Why labelscope hangs while it reads the memory of targets.
  static constexpr const char* kNoMemory =
      "no process supplies memory of the target that is read (userfaultfd, or a file system that "
      "hangs)";
  // Its functions are called on the watchdog's thread; each may be empty.
  struct Orders {
    // What most likely keeps labelscope from going on, as a clause.
    const char* cause = kNoMemory;
    // Returns another number for each stop of a thread; 0 while no thread is held. Thread-safe.
    std::function<std::uint64_t()> current_stop;
    std::chrono::nanoseconds max_stop{0};          // a thread may be held this long on purpose
    std::optional<std::chrono::nanoseconds> time;  // limit of all work together; nullopt: none
    // Set if the watchdog must end the work, as soon as this is true or the time is over. Otherwise
    // labelscope does that by itself, and the watchdog only checks that it does.
    std::function<bool()> cancelled;
    // Is called with each thread of labelscope that is stuck. It returns true if the work goes on
    // without that thread. Empty: a stuck thread is an alarm.
    std::function<bool(const StuckCall&)> go_on_without;
    // Does something that may help, such as ending the target. Called once; then labelscope gets
    // some more time.
    std::function<void()> remedy;
    // Reports why, and ends labelscope. Must not return. Empty: the watchdog waits without a limit.
    std::function<void(Reason, const std::string& why)> give_up;
  };

  // Says what the thread waits for, escaped.
  static std::string stuck_text(const StuckCall& call);

  // Watches until the object is destroyed. Create it after the signals are blocked.
  explicit Watchdog(Orders orders);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Returns why the remedy was called, if it was. Thread-safe.
  Reason reason() const { return reason_; }
  // Returns the same in words; empty for kCancelled and kTimeout, which are no trouble.
  std::string trouble() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Times {
    std::uint64_t stop = 0;  // the stop that `held` belongs to
    std::chrono::nanoseconds held{0};
    std::chrono::nanoseconds deaf{0};
    std::chrono::nanoseconds all{0};
  };
  struct Alarm {
    Reason reason;
    std::string why;
  };
  std::optional<Alarm> look_at_calls(std::chrono::nanoseconds passed);
  void watch();
  std::optional<Alarm> look(Times& times, std::chrono::nanoseconds passed) const;

  Orders orders_;
  StuckThreads calls_;
  std::chrono::nanoseconds since_calls_{0};  // since the last look at them
  std::atomic<Reason> reason_{Reason::kNone};
  mutable std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::string trouble_;
  std::thread thread_;
};

// For commands that have nothing to save: they end with this status.
inline Watchdog::Orders end_with(int status) {
  Watchdog::Orders orders;
  orders.give_up = [status](Watchdog::Reason, const std::string& why) {
    log::error(why + "; labelscope ends");
    end_process(status);
  };
  return orders;
}

}  // namespace labelscope::cli
