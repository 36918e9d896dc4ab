// Threads that no signal interrupts: only threads that wait for signals get them.
#pragma once

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace labelscope {

// Starts a thread that blocks all signals. Returns one that is not joinable if the system refuses
// it.
template <class Work>
std::thread start_deaf_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error&) {
    // The caller sees that there is none.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace labelscope
