#include "cli/step/ticks.h"

#include <unistd.h>

// The kernel's name for it; C libraries agree on none.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace labelscope::cli {
namespace {

int tick_signal() { return SIGRTMIN + 2; }

}  // namespace

Ticks::Ticks(std::chrono::nanoseconds period) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(tick_signal(), &action, &before_);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_signal();
  event.sigev_notify_thread_id = ::gettid();
  has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(period);
  const timespec each{seconds.count(), (period - seconds).count()};
  const itimerspec times{each, each};
  if (has_timer_) ::timer_settime(timer_, 0, &times, nullptr);
}

Ticks::~Ticks() {
  if (has_timer_) ::timer_delete(timer_);
  // One that is still on its way must not meet the default action, which ends the process.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(tick_signal(), &ignore, nullptr);
  ::sigaction(tick_signal(), &before_, nullptr);
}

}  // namespace labelscope::cli
