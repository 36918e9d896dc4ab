// A thread inherits the signals that are blocked where it is started. Those of the sampler block
// all of them, so that only threads that wait for signals get them.
#pragma once

#include <csignal>

namespace labelscope {

// Blocks all signals in this thread as long as it lives.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace labelscope
