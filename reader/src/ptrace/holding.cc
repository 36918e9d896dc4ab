#include "ptrace/holding.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <initializer_list>

namespace labelscope {

Holding::Holding(Until until) : until_(until) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &signals_before_);
  // Somebody who has chosen a policy knows why.
  if (pthread_getschedparam(pthread_self(), &policy_before_, &priority_before_) != 0 ||
      policy_before_ != SCHED_OTHER) {
    return;
  }
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  raised_ = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
  if (raised_) return;  // it has no slack
  timer_slack_before_ = std::max(prctl(PR_GET_TIMERSLACK), 0);
  prctl(PR_SET_TIMERSLACK, 1);
}

Holding::~Holding() {
  if (until_ == Until::kThreadEnds) return;
  if (raised_) pthread_setschedparam(pthread_self(), policy_before_, &priority_before_);
  if (timer_slack_before_ != 0) prctl(PR_SET_TIMERSLACK, timer_slack_before_);
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

}  // namespace labelscope
