// This finds out how much time each sample stands for, so that the sum is what the kernel has
// counted.
//
// The problem: samples come at random moments. If each stood for one period, a share of time would
// be as uncertain as an opinion poll. But the kernel counts the CPU time of every thread exactly.
// So each thread has an account, and its time is shared out among its samples:
//
//     thread's time   |-------- stretch --------|-------- stretch --------|-- rest --|
//     its samples        x     x  x       x  x     x    x    x  x     x       x   x
//                        each 1/5 of the stretch    each 1/5 of the next      1/2 each
//
// A stretch is so long that chance evens out among its samples, and much longer than a scheduler
// tick, because the kernel's numbers may be a tick behind. If a sample is lost, its time goes to
// the samples next to it.
//
// A thread that ran for less than a stretch has no account of its own. Most such threads have no
// sample at all, and the few that have one would stand for their own millisecond alone. So all
// short threads of a process share one account; and all processes whose account is still short
// share one account of the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

class TimeAccounts {
 public:
  // Sets the time of the rows of `profile`, and the account of its threads. The profile must
  // outlive this object.
  TimeAccounts(Profile& profile, std::uint64_t period_ns);

  // Adds a sample without a weight of its own that is counted in a row of the profile already.
  // `thread_ns`: Sample::thread_ns.
  void add_sample(Pid pid, Tid tid, std::uint64_t thread_ns, Index row);
  void end_thread(Pid pid, Tid tid, std::uint64_t thread_ns);
  // `process_ns` is the CPU time of the whole process, if it is known. What exceeds the sum of its
  // threads was never sampled, or lost. Call it when all its threads have ended.
  void end_process(Pid pid, std::uint64_t process_ns);
  // Shares out what is left. Call it once. `lost_ns` is the time of threads whose records were
  // lost. `whole_ns` is the time of all processes, also of those that we never saw; 0: not known.
  TimeLedger settle(std::uint64_t lost_ns, std::uint64_t whole_ns = 0);

 private:
  struct OpenThread {
    Pid pid{};
    std::uint64_t begun_ns = 0;  // where the stretch begins
    std::uint64_t last_ns = 0;
    Index last_row = kNoIndex;
    bool has_account = false;
    std::vector<Index> samples;  // rows of the samples in this stretch
  };
  // Numbers of samples by row. There are many of these, and most have a few rows, so they are lists
  // in which a row may come twice until they are sorted.
  class RowCounts {
   public:
    bool empty() const { return counts_.empty(); }
    void add(Index row, std::uint64_t count);
    // Returns each row once, with its number.
    const std::vector<std::pair<Index, std::uint64_t>>& sorted();
    void take(const RowCounts& other);

   private:
    static constexpr std::size_t kLeastLimit = 1024;
    std::vector<std::pair<Index, std::uint64_t>> counts_;
    std::size_t limit_ = kLeastLimit;  // so long it may get unsorted
  };
  // An account that several threads share.
  struct Pool {
    std::uint64_t time_ns = 0;
    RowCounts samples;
    void take(const Pool& other);
  };
  struct ProcessAccount {
    std::uint64_t known_ns = 0;  // the time of all its threads so far
    Pool pool;
  };

  void share(std::uint64_t time_ns, const std::vector<Index>& rows);
  void share(Pool& pool);
  void close(OpenThread& thread, std::uint64_t thread_ns);
  // Shares out the account if it is as long as a stretch; otherwise returns false.
  bool settle(Pool& pool);

  Profile& profile_;
  std::uint64_t period_ns_;
  std::uint64_t stretch_ns_;
  std::unordered_map<std::int32_t, OpenThread> threads_;  // by thread ID
  std::unordered_map<std::int32_t, ProcessAccount> processes_;
  std::uint64_t beyond_threads_ns_ = 0;  // time of processes beyond the sum of their threads
  TimeLedger ledger_;
};

}  // namespace labelscope::cli
