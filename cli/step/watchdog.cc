#include "cli/step/watchdog.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace labelscope::cli {
namespace {

// How soon Ctrl-C is noticed.
constexpr std::chrono::milliseconds kTick{20};

}  // namespace

Watchdog::Watchdog(Pid pid, std::chrono::milliseconds timeout, std::function<bool()> cancelled)
    : process_(static_cast<int>(::syscall(SYS_pidfd_open, raw(pid), 0))),
      thread_([this, timeout, cancelled = std::move(cancelled)] { watch(timeout, cancelled); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void Watchdog::watch(std::chrono::milliseconds timeout, const std::function<bool()>& cancelled) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    over_.wait_for(lock, kTick);
    if (is_over_) return;
    if (cancelled && cancelled()) {
      reason_ = Reason::kCancelled;
    } else if (std::chrono::steady_clock::now() >= deadline) {
      reason_ = Reason::kTimeout;
    }
    if (reason_ == Reason::kNone) continue;
    ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    return;
  }
}

}  // namespace labelscope::cli
