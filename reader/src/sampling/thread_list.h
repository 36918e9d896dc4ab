// ThreadList has the threads of a sampled process, and for how much of their CPU time a sample
// stands already.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "process/proc_fs.h"

namespace labelscope {

struct ListedThread {
  Tid tid{};
  std::string comm;
  // The thread's schedstat file, kept open because it is read at every tick. It is not valid if
  // there is no descriptor left for it.
  UniqueFd run_time;
  bool has_account = false;            // true if the kernel has such a file
  std::chrono::nanoseconds ran{0};     // CPU time so far, as last read
  std::chrono::nanoseconds waited{};   // time spent waiting for a processor, as last read
  std::chrono::nanoseconds before{0};  // the part of `ran` from before sampling began
  std::chrono::nanoseconds credit{0};  // the part of `ran` that no sample stands for yet
  std::chrono::steady_clock::time_point seen_first{};  // since sampling began
  bool ended = false;  // true until refresh() finds its number in use
  // If the thread did not stop, it is not tried again before this time.
  std::chrono::steady_clock::time_point hopeless_until{};
  bool is_worker = false;     // true for a thread of io_uring, which has no user part
  bool refused = false;       // true if the kernel does not allow labelscope to stop it
  std::uint64_t listing = 0;  // the listing in which it was seen last
  std::uint64_t named = 0;    // the listing in which its name was read
};

class ThreadList {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    Tid tid{};
    std::chrono::nanoseconds ran{0};    // on processors since sampling began, as far as was seen
    std::chrono::nanoseconds lived{0};  // since sampling began
  };

  // `newborn` means that the process is so young that all CPU time of its threads needs samples.
  // Otherwise the CPU time before this call counts as sampled.
  static Result<ThreadList> open(Pid pid, bool newborn, std::chrono::nanoseconds period);

  // Lists the threads that exist now. Those that started since the last call are newborn. Returns
  // false if the process has ended.
  bool refresh();
  // Counts all CPU time so far as sampled.
  void start_over();
  // Call this after an exec: the thread that executed goes on under the number of the first thread,
  // which may be marked as ended.
  void revive();
  // Returns whether the thread runs now and a sample is due. If so, it takes the credit for the
  // sample.
  bool runs_and_is_due(ListedThread& thread);
  // Returns the threads that have ended since the last call.
  std::vector<Ended> take_ended() { return std::exchange(ended_, {}); }
  // Returns how long each of the threads has run and lived by now.
  std::vector<Ended> times();
  // Treats all threads as ended now. Afterwards no thread is listed.
  std::vector<Ended> end_all();
  // Returns whether the thread, which is stopped now, was on a processor when runs_and_is_due()
  // looked, and did not wait for one. It also returns true if the thread has waited so often that
  // it is sampled all the same.
  bool was_on_processor(ListedThread& thread);
  // Call this if no sample was taken after all.
  void give_back(ListedThread& thread) const { thread.credit += period_; }
  // Returns the state as in /proc/PID/stat. R means that it runs or waits for a processor, D that
  // it sleeps uninterruptibly.
  char state_of(const ListedThread& thread) const;
  std::map<std::int32_t, ListedThread>& threads() { return threads_; }
  // Returns the number of threads so far whose CPU time the kernel does not publish.
  std::uint64_t without_times() const { return without_times_; }
  // Reads the name again if it may have changed.
  void refresh_name(ListedThread& thread);

 private:
  struct DirCloser {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  ThreadList(std::string folder, std::unique_ptr<DIR, DirCloser> dir,
             std::chrono::nanoseconds period)
      : folder_(std::move(folder)), dir_(std::move(dir)), period_(period) {}
  void begin(ListedThread& thread, std::int32_t tid);
  void revive_if_used(ListedThread& thread);
  bool read_run_time(ListedThread& thread);
  std::optional<ThreadStat> stat_of(const ListedThread& thread) const;
  static Ended as_ended(const ListedThread& thread);

  std::string folder_;  // /proc/PID/task/
  std::unique_ptr<DIR, DirCloser> dir_;
  std::chrono::nanoseconds period_;
  std::map<std::int32_t, ListedThread> threads_;
  std::vector<Ended> ended_;
  std::uint64_t listing_ = 0;
  std::uint64_t without_times_ = 0;
};

}  // namespace labelscope
