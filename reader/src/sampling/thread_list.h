// The threads of a process that is sampled, and how much of their CPU time has a sample already.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

struct ListedThread {
  Tid tid{};
  std::string comm;
  // schedstat of it, kept open: it is read at every tick. Not valid where the kernel has none.
  UniqueFd run_time;
  std::chrono::nanoseconds ran{0};     // CPU time so far, as last read
  std::uint64_t turns = 0;             // how often it was given a processor, as last read
  std::chrono::nanoseconds before{0};  // of that, what it had run before sampling began
  std::chrono::nanoseconds credit{0};  // of that, what no sample stands for
  std::chrono::steady_clock::time_point seen_first{};  // since sampling began
  bool ended = false;                                  // until refresh() finds its number in use
  // Not tried again before: it did not stop.
  std::chrono::steady_clock::time_point hopeless_until{};
  bool refused = false;       // nor may it be stopped
  std::uint64_t listing = 0;  // in which it was seen last
  std::uint64_t named = 0;    // when its name was read
};

class ThreadList {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    Tid tid{};
    std::chrono::nanoseconds ran{0};    // on processors since sampling began, as far as was seen
    std::chrono::nanoseconds lived{0};  // since sampling began
  };

  // `newborn`: the process is so young that all CPU time of its threads is to be sampled; otherwise
  // what they have run before counts as sampled.
  static Result<ThreadList> open(Pid pid, bool newborn, std::chrono::nanoseconds period);

  // Lists the threads that exist now; those that started since the last time are newborn. False:
  // the process has ended.
  bool refresh();
  // What all have run so far counts as sampled.
  void start_over();
  // After an exec: the first thread goes on under the number of one that has ended.
  void revive();
  // Whether a thread has run for so long, and runs now, that a sample is due; takes the credit.
  bool runs_and_is_due(ListedThread& thread);
  // What has ended since the last time.
  std::vector<Ended> take_ended() { return std::exchange(ended_, {}); }
  // All that there is, as it is now; nothing is listed any more.
  std::vector<Ended> end_all();
  // Whether a thread that has stopped was on a processor when runs_and_is_due() said so, and not
  // waiting for one; or waits so often that it is sampled all the same.
  bool was_on_processor(ListedThread& thread);
  // No sample came of it.
  void give_back(ListedThread& thread) const { thread.credit += period_; }
  // As in /proc/PID/stat: R runs, or waits for nothing but a processor; D cannot be interrupted.
  char state_of(const ListedThread& thread) const;
  std::map<std::int32_t, ListedThread>& threads() { return threads_; }
  // Threads so far whose CPU time nobody told.
  std::uint64_t untold() const { return untold_; }
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
  static Ended as_ended(const ListedThread& thread);

  std::string folder_;  // /proc/PID/task/
  std::unique_ptr<DIR, DirCloser> dir_;
  std::chrono::nanoseconds period_;
  std::map<std::int32_t, ListedThread> threads_;
  std::vector<Ended> ended_;
  std::uint64_t listing_ = 0;
  std::uint64_t untold_ = 0;
};

}  // namespace labelscope
