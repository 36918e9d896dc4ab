#include "cli/record/hold_watch.h"

#include <unistd.h>

#include <csignal>

#include "cli/exit_status.h"
#include "cli/log.h"

namespace labelscope::cli {
namespace {

// Time is counted in looks of the watch, not taken from a clock: while labelscope itself is stopped
// (Ctrl-Z), nothing is looked at.
constexpr std::chrono::milliseconds kTick{100};
// A hold takes microseconds, on a machine that swaps perhaps a second.
constexpr std::chrono::seconds kLongestHold{5};
// Signals are taken fifty times a second, but for when a large process is planned.
constexpr int kLongestDeafness = 10'000 / kTick.count();

constexpr std::string_view kCause =
    "memory of the target that is read is supplied by nobody (userfaultfd, or a file system that "
    "hangs)";

bool signal_waits() {
  sigset_t pending;
  sigpending(&pending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigismember(&pending, signal) == 1) return true;
  }
  return false;
}

[[noreturn]] void end_labelscope(ExitStatus status, const std::string& message) {
  log::error(message + "; labelscope ends, and nothing was written");
  _exit(status);
}

}  // namespace

HoldWatch::HoldWatch(const Sampler& sampler, std::chrono::nanoseconds max_stop)
    : thread_([this, &sampler, longest = static_cast<int>((kLongestHold + max_stop) / kTick)] {
        watch(sampler, longest);
      }) {}

HoldWatch::~HoldWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void HoldWatch::watch(const Sampler& sampler, int longest_hold) {
  std::uint64_t hold = 0;
  int held = 0;
  int deaf = 0;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kTick, [this] { return is_over_; })) {
    const std::uint64_t now = sampler.current_stop();
    held = now != 0 && now == hold ? held + 1 : 0;
    hold = now;
    if (held > longest_hold) {
      end_labelscope(kExitRuntimeError, "a thread of the target was held for " +
                                            std::to_string(held * kTick / std::chrono::seconds(1)) +
                                            " s: " + std::string(kCause));
    }
    deaf = signal_waits() ? deaf + 1 : 0;
    if (deaf > kLongestDeafness) {
      end_labelscope(kExitGivenUp,
                     "stopping takes too long, most likely because " + std::string(kCause));
    }
  }
}

}  // namespace labelscope::cli
