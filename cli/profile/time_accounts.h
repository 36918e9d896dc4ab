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
// short threads of a process share one account, until it executes another program; and all
// processes whose account is still short share one account of the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"
#include "sampling/process_key.h"

namespace labelscope::cli {

// What the kernel has counted of all that is recorded, beside the threads that it reports.
struct KernelTotals {
  std::uint64_t lost_ns = 0;   // of threads whose records were lost
  std::uint64_t whole_ns = 0;  // of all processes, also of those that were never seen; 0: not known
  // It is what the windows before have not had since the start, not what was used since the last
  // cut.
  bool is_all_the_rest = false;
  // Processes that were not recorded are in `whole_ns`.
  bool has_strangers = false;
  // More than this is impossible: all processors, from before the start until after the end.
  std::uint64_t most_ns = std::numeric_limits<std::uint64_t>::max();
};

class TimeAccounts {
 public:
  // Sets the time of the rows of `profile`, and the account of its threads. The profile must
  // outlive this object.
  TimeAccounts(Profile& profile, std::uint64_t period_ns);

  // Adds a sample without a weight of its own that is counted in a row of the profile already.
  // `time_ns`: Sample::time_ns; `thread_ns`: Sample::thread_ns.
  void add_sample(ProcessKey process, Tid tid, std::uint64_t time_ns, std::uint64_t thread_ns,
                  Index row);
  void end_thread(ProcessKey process, Tid tid, std::uint64_t thread_ns);
  // All processes that had this number have run for so long, by their own clocks. What exceeds the
  // sum of their threads was never sampled, or lost; what is left of that sum beyond `most_ns` was
  // counted twice. Call it once for each number.
  void set_process_time(Pid pid, std::uint64_t least_ns, std::uint64_t most_ns);
  // A thread goes on, and has run for so long at that time. Call it for each thread before cut(),
  // so that the time of a window is in that window.
  void advance_thread(ProcessKey process, Tid tid, std::uint64_t time_ns, std::uint64_t thread_ns);
  // Shares out what is left, and begins anew with the threads as they are: what they run from here
  // on belongs to the next window, whose rows are others. Returns the ledger of the time since the
  // last cut.
  //
  // At a cut the kernel has counted more of a thread for its process than for itself: of one that
  // is about to end, up to a tick. The next window has that, so it is only owed, unless the window
  // is the last one.
  TimeLedger cut(const KernelTotals& totals, bool is_last = true);

 private:
  struct OpenThread {
    bool is_known = false;     // by a sample, or by advance_thread()
    bool is_sampled = false;   // in this window
    bool is_advanced = false;  // likewise
    unsigned silent = 0;       // so many windows had neither
    ProcessKey process;
    std::uint64_t begun_ns = 0;  // where the stretch begins
    std::uint64_t last_ns = 0;
    std::uint64_t last_time_ns = 0;  // the time of the youngest sample
    std::uint64_t shared_ns = 0;     // in stretches before this one
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
  // All processes that had one number, which is all that a process's clock is known by.
  struct NumberAccount {
    std::uint64_t known_ns = 0;  // the time of all their threads so far
    // What the process's clock may lack of it: when a thread ends, the kernel adds what it had
    // counted at its last update, up to a tick ago, to that clock.
    std::uint64_t tails_ns = 0;
    std::uint64_t least_ns = 0;  // by its own clock
    std::uint64_t most_ns = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t at_cut_ns = 0;  // so much its threads may lack of their time at the cut
    std::map<std::uint32_t, Pool> pools;  // by life
  };

  void share(std::uint64_t time_ns, const std::vector<Index>& rows);
  void share(Pool& pool);
  // `ends`: the thread does not go on as another program.
  void close(OpenThread& thread, std::uint64_t thread_ns, bool ends = true);
  // Returns false if it has ended: for some windows nothing has been heard of it.
  bool interrupt(OpenThread& thread);
  void replace_other(OpenThread& thread, ProcessKey process, std::uint64_t thread_ns);
  // Returns how much of `time_ns`, of unlike programs, the samples of this account can stand for.
  std::uint64_t room_for(Pool& pool, std::uint64_t time_ns) const;
  // Returns what a clock has beyond known threads, without what they may lack at the cut: that, or
  // less, is owed for the next window.
  static std::uint64_t beyond(std::uint64_t least_ns, std::uint64_t known_ns,
                              std::uint64_t at_cut_ns, std::uint64_t& owed_ns);
  // Shares out the account if it is as long as a stretch; otherwise returns false.
  bool settle(Pool& pool);

  Profile& profile_;
  std::uint64_t period_ns_;
  std::uint64_t stretch_ns_;
  std::unordered_map<std::int32_t, OpenThread> threads_;  // by thread ID
  std::unordered_map<std::int32_t, NumberAccount> numbers_;  // by process number
  std::unordered_map<std::int32_t, std::uint64_t> owed_;     // by process number
  std::uint64_t whole_owed_ = 0;                             // of all processes
  TimeLedger ledger_;
  bool has_time_ = false;  // some window has
};

}  // namespace labelscope::cli
