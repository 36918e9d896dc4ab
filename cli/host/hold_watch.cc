#include "cli/host/hold_watch.h"

#include <csignal>

#include "cli/host/signals.h"

namespace labelscope::cli {
namespace {

// The watch counts its looks and takes no time from a clock: while labelscope itself is stopped
// (Ctrl-Z), time passes, but there are no looks.
constexpr std::chrono::milliseconds kTick{100};
// A thread is held for microseconds; on a machine that swaps, perhaps for a second.
constexpr std::chrono::seconds kLongestHold{5};

std::int64_t looks_in(std::chrono::nanoseconds time) { return time / kTick; }

bool signal_waits() {
  sigset_t pending;
  sigpending(&pending);
  for (int signal : kStopSignals) {
    if (sigismember(&pending, signal) == 1) return true;
  }
  return false;
}

}  // namespace

HoldWatch::HoldWatch(Limits limits) : limits_(std::move(limits)), thread_([this] { watch(); }) {}

HoldWatch::~HoldWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

std::string HoldWatch::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::optional<HoldWatch::Finding> HoldWatch::look(Counts& counts) const {
  const std::string cause(kUnsuppliedMemory);
  const std::uint64_t now = limits_.current_stop();
  counts.held = now != 0 && now == counts.hold ? counts.held + 1 : 0;
  counts.hold = now;
  if (counts.held > looks_in(kLongestHold + limits_.max_stop)) {
    const auto seconds = counts.held * kTick / std::chrono::seconds(1);
    return Finding{Stuck::kHeld, "a thread of the target was held for " + std::to_string(seconds) +
                                     " s: " + cause};
  }
  counts.deaf = signal_waits() ? counts.deaf + 1 : 0;
  if (counts.deaf > looks_in(kLongestDeafness)) {
    return Finding{Stuck::kDeaf, "stopping takes too long, most likely because " + cause};
  }
  ++counts.all;
  if (limits_.time && counts.all - looks_in(kLongestDeafness) > looks_in(*limits_.time)) {
    return Finding{Stuck::kLate,
                   "it does not end when its time is over, most likely because " + cause};
  }
  return std::nullopt;
}

void HoldWatch::watch() {
  Counts counts;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kTick, [this] { return is_over_; })) {
    const auto found = look(counts);
    if (!found) continue;
    if (!limits_.remedy || !trouble_.empty()) return limits_.give_up(found->stuck, found->why);
    trouble_ = found->why;
    limits_.remedy();
    counts = {};
    limits_.time = std::chrono::nanoseconds{0};
  }
}

}  // namespace labelscope::cli
