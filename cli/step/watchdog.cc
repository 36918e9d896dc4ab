#include "cli/step/watchdog.h"

#include "cli/host/hold_watch.h"

namespace labelscope::cli {
namespace {

// How soon Ctrl-C is noticed.
constexpr std::chrono::milliseconds kTick{20};

}  // namespace

Watchdog::Watchdog(std::chrono::milliseconds timeout, Orders orders)
    : orders_(std::move(orders)), thread_([this, timeout] { watch(timeout); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void Watchdog::watch(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  const auto over = [this] { return is_over_; };
  while (reason_ == Reason::kNone) {
    if (over_.wait_for(lock, kTick, over)) return;
    if (orders_.cancelled && orders_.cancelled()) {
      reason_ = Reason::kCancelled;
    } else if (std::chrono::steady_clock::now() >= deadline) {
      reason_ = Reason::kTimeout;
    }
  }
  orders_.kill();
  if (over_.wait_for(lock, kLongestDeafness, over) || !orders_.give_up) return;
  orders_.give_up("the program was killed and does not end, or " + std::string(kUnsuppliedMemory));
}

}  // namespace labelscope::cli
