// How much time each sample stands for, so that the sum is what the kernel has counted.
//
// Samples are taken at random moments, so each alone would stand for one period, and a share would
// be as uncertain as a poll. But the kernel counts what every thread runs. So each thread has an
// account, and its time is shared out among its samples:
//
//     thread's time   |-------- stretch --------|-------- stretch --------|-- rest --|
//     its samples        x     x  x       x  x     x    x    x  x     x       x   x
//                        each 1/5 of the stretch    each 1/5 of the next      1/2 each
//
// A stretch is as long as some samples need to even out, and long against a scheduler tick, by
// which the kernel's numbers lag. Time whose samples were lost goes to those next to it.
//
// A thread that ran for less than a stretch has no account of its own: most of its kind have no
// sample at all, and the one that has would stand for its own millisecond alone. All such threads
// of a process have one account, and such processes share the recording's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

class TimeAccounts {
 public:
  // `profile`: whose rows get their time, and whose threads get their account. Must outlive this.
  TimeAccounts(Profile& profile, std::uint64_t period_ns);

  // A sample, already counted in a row of the profile. `thread_ns`: Sample::thread_ns.
  void add_sample(Pid pid, Tid tid, std::uint64_t thread_ns, Index row);
  void end_thread(Pid pid, Tid tid, std::uint64_t thread_ns);
  // What the process ran in all, where somebody knows: what is beyond its threads was never
  // sampled, or lost. When all its threads have ended.
  void end_process(Pid pid, std::uint64_t process_ns);
  // Shares out what is left, once. `lost_ns`: time of threads of which no word came through.
  // `whole_ns`: of all processes, those included that nobody saw; 0: not known.
  TimeLedger settle(std::uint64_t lost_ns, std::uint64_t whole_ns = 0);

 private:
  struct OpenThread {
    Pid pid{};
    std::uint64_t begun_ns = 0;  // where the stretch begins
    std::uint64_t last_ns = 0;
    Index last_row = kNoIndex;
    bool has_account = false;
    std::vector<Index> samples;  // rows of those in the stretch
  };
  // Of several threads.
  struct Pool {
    std::uint64_t time_ns = 0;
    std::unordered_map<Index, std::uint64_t> samples;  // how many by row
    void take(const Pool& other);
  };
  struct Process {
    std::uint64_t told_ns = 0;  // of all its threads
    Pool pool;
  };

  void share(std::uint64_t time_ns, const std::vector<Index>& rows);
  void share(const Pool& pool);
  void close(OpenThread& thread, std::uint64_t thread_ns);
  // True: the account is large enough to be settled by itself, and is.
  bool settle(const Pool& pool);

  Profile& profile_;
  std::uint64_t period_ns_;
  std::uint64_t stretch_ns_;
  std::unordered_map<std::int32_t, OpenThread> threads_;  // by number
  std::unordered_map<std::int32_t, Process> processes_;
  std::uint64_t untold_ns_ = 0;  // what processes ran beyond their threads
  TimeLedger ledger_;
};

}  // namespace labelscope::cli
