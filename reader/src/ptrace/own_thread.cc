#include "ptrace/own_thread.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <system_error>
#include <thread>

namespace labelscope {
namespace {

// Changes the calling thread's signal mask, and puts the old one back at the end.
class SignalMask {
 public:
  SignalMask() { ::pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalMask() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

  void block_all() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  }
  void block_job_control() {
    sigset_t signals = before_;
    for (int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  }

 private:
  sigset_t before_{};
};

}  // namespace

Status run_on_own_thread(const std::function<void()>& work) {
  std::exception_ptr thrown;
  SignalMask signals;
  signals.block_all();
  try {
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    signals.block_job_control();
    worker.join();
  } catch (const std::system_error& error) {
    return system_error(error.code().value(), "a thread to stop others from");
  }
  if (thrown) std::rethrow_exception(thrown);
  return {};
}

}  // namespace labelscope
