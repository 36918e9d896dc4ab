// A thread that can be left behind. It reads targets, so it may wait in a call for ever
// (stuck_threads.h): nothing ends that but the end of labelscope. Then another thread takes the
// work over, with all that is there:
//
//   first     work() ... pread() .................................... (waits, then stands still)
//   Watchdog             look . look . leave_behind()
//   second                                           work() again, and goes on where it must
//
// The two never run at once. Before leave_behind() returns true, the first thread has got a signal
// whose handler does not return. So if its call comes back one day, it does nothing more: what is
// on its stack stays, and no lock that it holds is ever let go. This works because it is left at
// the end of a system call that only code holds open which knows of nothing else: it reads a file
// or memory.
//
// A process that has left a thread behind must end by _exit(): nothing may wait for that thread, or
// destroy what it uses.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "cli/host/stuck_threads.h"

namespace labelscope::cli {

class ReplaceableThread {
 public:
  // More threads than that are not left behind.
  static constexpr int kMost = 64;

  // Calls `work` on a thread of its own, and returns what it returns. If that thread is left
  // behind, `work` is called again, on another one. An exception of `work` reaches the caller.
  int run(const std::function<int()>& work);

  // Any other thread may call these, while run() runs.
  // Returns whether this is the thread that works.
  bool is(pid_t tid) const { return tid_ == tid; }
  // Makes the thread stand still that waits in this call. Returns false if it has come back
  // meanwhile; then it goes on.
  bool leave_behind(const StuckCall& call);
  // Lets another thread begin, after leave_behind() has returned true.
  void replace();

  int left_behind() const { return left_behind_; }

 private:
  std::atomic<pid_t> tid_ = 0;
  std::atomic<int> left_behind_ = 0;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  pthread_t thread_{};
  bool over_ = false;
  bool replaces_ = false;
};

}  // namespace labelscope::cli
