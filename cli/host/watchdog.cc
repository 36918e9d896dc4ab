// The thread that looks, and its limits.
#include "cli/host/watchdog.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "cli/host/signals.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

using std::chrono::nanoseconds;

// Ctrl-C is noticed this soon, where the watchdog has to end the work.
constexpr std::chrono::milliseconds kTick{20};
// Otherwise it looks so often: the limits below are seconds, and to wake up takes time of the
// processors that the target runs on.
constexpr std::chrono::milliseconds kRareTick{200};
// While labelscope itself is stopped (Ctrl-Z), the watchdog does not look. Of that time, this much
// counts.
constexpr std::chrono::milliseconds kMostPerLook{1000};
// A thread is held for microseconds; on a machine that swaps, perhaps for a second.
constexpr std::chrono::seconds kLongestHold{5};
// A request to stop (a signal) must have been taken after this time, and work must have ended.
// labelscope takes signals at once, but not while it plans a large process.
constexpr std::chrono::seconds kLongestDeafness{10};
// Nothing that a disk or a busy server answers takes so long in one call.
constexpr std::chrono::seconds kLongestCall{10};
// Looking at the calls of all threads takes 50 us.
constexpr std::chrono::seconds kBetweenCalls{1};

bool signal_waits() {
  sigset_t pending;
  sigpending(&pending);
  for (int signal : kStopSignals) {
    if (sigismember(&pending, signal) == 1) return true;
  }
  return false;
}

}  // namespace

Watchdog::Watchdog(Orders orders)
    : orders_(std::move(orders)), calls_(kLongestCall), thread_([this] { watch(); }) {}

std::string Watchdog::stuck_text(const StuckCall& call) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(call.waited).count();
  return escape_terminal(call.what) + " has not come back for " + std::to_string(seconds) +
         " s: what has to supply it does not answer (a file system that hangs, or userfaultfd)";
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

std::string Watchdog::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Watchdog::watch() {
  Times times;
  const std::chrono::milliseconds tick = orders_.cancelled ? kTick : kRareTick;
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, tick, [this] { return is_over_; })) {
    const auto now = Clock::now();
    const auto passed = std::min<nanoseconds>(now - last, kMostPerLook);
    auto found = look(times, passed);
    if (!found) found = look_at_calls(passed);
    last = now;
    if (!found) continue;
    if (orders_.remedy && reason_ == Reason::kNone) {
      trouble_ = found->why;
      reason_ = found->reason;
      orders_.remedy();
      times = {};
    } else {
      if (orders_.give_up) orders_.give_up(found->reason, found->why);
      return;
    }
  }
}

std::optional<Watchdog::Alarm> Watchdog::look_at_calls(nanoseconds passed) {
  since_calls_ += passed;
  if (since_calls_ < kBetweenCalls) return std::nullopt;
  for (const StuckCall& call : calls_.look(std::exchange(since_calls_, nanoseconds{0}))) {
    if (orders_.go_on_without && orders_.go_on_without(call)) continue;
    return Alarm{Reason::kStuck, stuck_text(call)};
  }
  return std::nullopt;
}

std::optional<Watchdog::Alarm> Watchdog::look(Times& times, nanoseconds passed) const {
  const std::string cause = orders_.cause;
  const bool helped = reason_ != Reason::kNone;
  times.all += passed;
  if (orders_.cancelled && !helped) {
    if (orders_.cancelled()) return Alarm{Reason::kCancelled, {}};
    if (orders_.time && times.all >= *orders_.time) return Alarm{Reason::kTimeout, {}};
  }
  const std::uint64_t stop = orders_.current_stop ? orders_.current_stop() : 0;
  times.held = stop != 0 && stop == times.stop ? times.held + passed : nanoseconds{0};
  times.stop = stop;
  if (times.held > kLongestHold + orders_.max_stop) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(times.held).count();
    return Alarm{Reason::kHeld,
                 "a thread of the target was held for " + std::to_string(seconds) + " s: " + cause};
  }
  times.deaf = signal_waits() ? times.deaf + passed : nanoseconds{0};
  if (times.deaf > kLongestDeafness) {
    return Alarm{Reason::kDeaf, "stopping takes too long, most likely because " + cause};
  }
  if (helped && times.all > kLongestDeafness) {
    return Alarm{Reason::kLate, "the program was killed and does not end, or " + cause};
  }
  if (!helped && orders_.time && times.all > *orders_.time + kLongestDeafness) {
    return Alarm{Reason::kLate,
                 "it does not end when its time is over, most likely because " + cause};
  }
  return std::nullopt;
}

}  // namespace labelscope::cli
