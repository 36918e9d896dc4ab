#include "ptrace/holding.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <future>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <utility>

namespace labelscope {
namespace {

void add_job_control(sigset_t& signals) {
  for (int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&signals, signal);
}

SharedHolds* shared_holds = nullptr;

}  // namespace

void share_holds(SharedHolds* holds) { shared_holds = holds; }

Hold::Hold() {
  if (shared_holds != nullptr) ++shared_holds->current;
}

Hold::~Hold() {
  if (shared_holds == nullptr || --shared_holds->current != 0) return;
  if (shared_holds->was_continued.exchange(false)) ::raise(SIGSTOP);
}

Holding::Holding(Until until) : until_(until) {
  sigset_t signals;
  sigemptyset(&signals);
  add_job_control(signals);
  pthread_sigmask(SIG_BLOCK, &signals, &signals_before_);
  if (until_ == Until::kDestroyed) hold_.emplace();
  // A policy that a user or program has chosen is kept.
  if (pthread_getschedparam(pthread_self(), &policy_before_, &priority_before_) != 0 ||
      policy_before_ != SCHED_OTHER) {
    return;
  }
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  raised_ = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
  if (raised_) return;  // real-time threads have no slack
  timer_slack_before_ = std::max(prctl(PR_GET_TIMERSLACK), 0);
  prctl(PR_SET_TIMERSLACK, 1);
}

Holding::~Holding() {
  if (until_ == Until::kThreadEnds) return;
  if (raised_) pthread_setschedparam(pthread_self(), policy_before_, &priority_before_);
  if (timer_slack_before_ != 0) prctl(PR_SET_TIMERSLACK, timer_slack_before_);
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

Status run_on_own_thread(const std::function<void()>& work) {
  sigset_t before;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // The new thread starts with the signal mask of the thread that makes it.
  std::future<void> done;
  int failure = 0;
  std::optional<Hold> hold(std::in_place);
  try {
    done = std::async(std::launch::async, work);
  } catch (const std::system_error& error) {
    failure = error.code().value();
  }
  sigset_t meanwhile = before;
  add_job_control(meanwhile);
  pthread_sigmask(SIG_SETMASK, &meanwhile, nullptr);
  if (done.valid()) done.wait();  // until the thread has ended, and not only its work
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  hold.reset();
  if (!done.valid()) return system_error(failure, "a thread to stop others from");
  done.get();
  return {};
}

}  // namespace labelscope
