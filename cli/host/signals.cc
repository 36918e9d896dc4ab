// Receives signals through a signalfd.
#include "cli/host/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "cli/host/exit_status.h"

namespace labelscope::cli {
namespace {

void set_action(int signal, sighandler_t handler, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, &before);
}

// timeout(1) sends its signal twice, to us and to our group; a user who presses once means one
// request.
constexpr std::int64_t kSameRequestMs = 500;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

volatile sig_atomic_t signals_seen = 0;
volatile std::int64_t last_request_ms = 0;

void give_up_at_the_second(int) {
  const std::int64_t now = now_ms();
  if (now - last_request_ms < kSameRequestMs) return;
  last_request_ms = now;
  signals_seen = signals_seen + 1;
  if (signals_seen < 2) return;
  constexpr std::string_view kText = "labelscope: gave up; what was not written is gone\n";
  ssize_t ignored = ::write(STDERR_FILENO, kText.data(), kText.size());
  static_cast<void>(ignored);
  _exit(kExitGivenUp);
}

}  // namespace

Signals::Signals() {
  sigemptyset(&events_);
  for (int signal : kStopSignals) sigaddset(&events_, signal);
  struct sigaction hangup {};
  // A blocked signal is delivered to a signalfd even if it is ignored.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
    sigdelset(&events_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &events_, &before_);
  // A reader of our stdout that goes away is a write error; it must not end labelscope without a
  // message.
  set_action(SIGPIPE, SIG_IGN, pipe_before_);
  // If SIGCHLD is ignored (which is inherited), the kernel discards a child's status.
  set_action(SIGCHLD, SIG_DFL, child_before_);
  fd_.reset(::signalfd(-1, &events_, SFD_NONBLOCK | SFD_CLOEXEC));
  // Without the descriptor only SIGKILL could stop us.
  if (!fd_.valid()) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Signals::~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Signals::restore() const {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Signals::begin_uninterrupted() {
  signals_seen = stops_ > 0 ? 1 : 0;
  struct sigaction action {};
  action.sa_handler = &give_up_at_the_second;
  action.sa_flags = SA_RESTART;
  for (int signal : kStopSignals) {
    if (sigismember(&events_, signal) == 1) ::sigaction(signal, &action, nullptr);
  }
  pthread_sigmask(SIG_UNBLOCK, &events_, nullptr);
}

void Signals::end_uninterrupted() { pthread_sigmask(SIG_BLOCK, &events_, nullptr); }

bool Signals::stop_is_pending() {
  sigset_t pending{};
  if (::sigpending(&pending) != 0) return false;
  return std::any_of(kStopSignals.begin(), kStopSignals.end(),
                     [&](int signal) { return sigismember(&pending, signal) == 1; });
}

void Signals::poll() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    // SI_USER and similar codes: a process sent it by kill(2) to labelscope alone. SI_KERNEL: the
    // terminal sent it to the group.
    forwardable_ = info.ssi_code <= 0 ? static_cast<int>(info.ssi_signo) : 0;
    const std::int64_t now = now_ms();
    if (stops_ == 0 || now - last_request_ms >= kSameRequestMs) ++stops_;
    last_request_ms = now;
  }
}

}  // namespace labelscope::cli
