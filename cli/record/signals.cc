// Signals through a signalfd.
#include "cli/record/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace labelscope::cli {
namespace {

void set_action(int signal, sighandler_t handler, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, &before);
}

}  // namespace

Signals::Signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&mask, signal);
  struct sigaction hangup {};
  // A blocked signal is delivered to a signalfd even if it is ignored.
  if (::sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
    sigaddset(&mask, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &mask, &before_);
  // A reader of our stdout that goes away is a write error, not a death without a word.
  set_action(SIGPIPE, SIG_IGN, pipe_before_);
  // Where it is ignored (it is inherited), the kernel throws a child's status away.
  set_action(SIGCHLD, SIG_DFL, child_before_);
  fd_.reset(::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
  // Without it nothing could stop us but SIGKILL.
  if (!fd_.valid()) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Signals::~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Signals::restore() const {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Signals::poll() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    ++stops_;
    // SI_USER and its kin: sent by kill(2) to labelscope alone. SI_KERNEL: the terminal, to the
    // group.
    forwardable_ = info.ssi_code <= 0 ? static_cast<int>(info.ssi_signo) : 0;
  }
}

}  // namespace labelscope::cli
