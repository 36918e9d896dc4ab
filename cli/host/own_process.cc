// Limits and nice values of labelscope itself.
#include "cli/host/own_process.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {
namespace {

constexpr int kFirst = -20;
constexpr int kLast = 19;
// RLIMIT_NICE of a process that may take any nice value (getrlimit(2)).
constexpr rlim_t kAnyNice = 40;
// A process with a thousand libraries takes no more descriptors before its first sample.
constexpr rlim_t kRoomForFiles = 4096;

// Linux has a nice value for each thread; ID 0 means the calling one.
int own_nice() { return ::getpriority(PRIO_PROCESS, 0); }
bool set_own_nice(int value) { return ::setpriority(PRIO_PROCESS, 0, value) == 0; }

std::chrono::nanoseconds used() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  // The kernel's table of them grows to the highest number. In a process with several threads it
  // lets each growth wait for an RCU grace period.
  const UniqueFd any(::open("/", O_PATH | O_CLOEXEC));
  const rlim_t last = std::min(limit.rlim_cur, kRoomForFiles) - 1;
  static_cast<void>(UniqueFd(::fcntl(any.get(), F_DUPFD_CLOEXEC, static_cast<int>(last))));
}

namespace {
sighandler_t file_limit_before = SIG_DFL;
}

void survive_file_limit() { file_limit_before = ::signal(SIGXFSZ, SIG_IGN); }

void restore_file_limit() { ::signal(SIGXFSZ, file_limit_before); }

Precedence& Precedence::own() {
  static Precedence precedence;
  return precedence;
}

void Precedence::take() {
  before_ = own_nice();
  used_before_ = used();
  // A worker has inherited the precedence of labelscope, which is not to stay.
  if (before_ == kFirst) before_ = 0;
  // A user who has lowered labelscope's priority had a reason.
  raised_ = before_ <= 0 && set_own_nice(kFirst);
  if (!raised_ || ::getrlimit(RLIMIT_NICE, &limit_before_) != 0) return;
  // A worker inherits this limit, and then needs no rights to step back and come forward.
  const rlimit any{kAnyNice, std::max(kAnyNice, limit_before_.rlim_max)};
  may_return_ = limit_before_.rlim_cur >= kAnyNice || ::setrlimit(RLIMIT_NICE, &any) == 0;
}

void Precedence::forgo() {
  if (own_nice() == kFirst) set_own_nice(own().before_);
}

void Precedence::start_again() { used_before_ = used(); }

void Precedence::give_back_after(std::chrono::nanoseconds most) {
  if (raised_ && used() - used_before_ > most) give_back();
}

void Precedence::give_back() {
  if (raised_) set_own_nice(before_);
  raised_ = false;
}

void Precedence::renounce() {
  give_back();
  if (may_return_) ::setrlimit(RLIMIT_NICE, &limit_before_);
  may_return_ = false;
}

void Precedence::step_back() {
  if (may_return_ && set_own_nice(kLast)) is_back_ = true;
}

void Precedence::come_forward() {
  if (!is_back_) return;
  is_back_ = false;
  raised_ = set_own_nice(kFirst);
  start_again();
}

}  // namespace labelscope::cli
