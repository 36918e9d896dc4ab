// Signals through a signalfd.
#include "cli/record/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace labelscope::cli {

Signals::Signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &before_);
  // A reader of our stdout that goes away is a write error, not a death without a word.
  ::signal(SIGPIPE, SIG_IGN);
  fd_.reset(::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
}

Signals::~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

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
