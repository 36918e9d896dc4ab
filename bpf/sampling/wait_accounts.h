// WaitAccounts makes the ledger of each thread of a recording: what the BPF programs have added up
// of its waits, and what the kernel has counted of its CPU time, from the beginning to the end.
//
//   a thread that is there when the recording begins   begin() ............ end() or close()
//   a thread that comes later     the programs see it begin ............... end() or close()
//
// If the recording is cut, each window has a ledger of it, which goes from one cut to the next:
//
//   the programs' sums   window 1      window 2      window 3     (every second one in one sum)
//                     |-------------|-------------|-------------|
//   begun_              |  cut() -->  |
//                                     the time, what it has run by then, and how much of each sum
//                                     windows have had
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/sampling/wait_cut.h"
#include "bpf/wire/records.h"
#include "bpf/wire/wire.h"
#include "labelscope/ids.h"
#include "process/cpu_times.h"
#include "sampling/thread_ledger.h"

namespace labelscope {

class WaitAccounts {
 public:
  // These threads exist at `now_ns`, and their time counts from then on. Those of io_uring have no
  // account, here as in freeze(): their waits do not count.
  void begin(std::span<const ThreadTime> times, std::uint64_t now_ns);
  // A thread that waits now, and whose CPU time is still what it was at its begin(), has waited
  // since. Returns when that was, or `otherwise`.
  std::uint64_t waits_since(const ThreadTime& thread, std::uint64_t otherwise) const;
  // Another thread has this number now. What the programs know of the one before is known by its
  // begin, too.
  void forget(Tid tid);
  // The thread has left its last processor.
  void end(const ThreadWaitsRecord& record);

  // Ends a window. `threads` are those that the programs know, and `ended` those that have ended
  // since the cut; `times` has all that exist. Returns the ledgers of the window. Of each wait that
  // was open, `hand_out` gets what is of this window.
  using Times = std::map<Pid, std::vector<ThreadTime>>;
  using HandOut = std::function<void(const ThreadAtCut&, const WaitParts&)>;
  ThreadLedgers cut(const WaitCut& cut, std::span<const ThreadAtCut> threads,
                    std::span<const ThreadAtCut> ended, const Times& times,
                    const std::function<ProcessKey(Pid)>& key_of, const HandOut& hand_out);

  // The end of the recording: `threads` are those that the programs know, at `closed_ns`.
  void close(std::span<const std::pair<Tid, ls_off_cpu>> threads, std::uint64_t closed_ns);
  // Behind close(): the threads of a process that exist, at `now_ns`.
  void freeze(ProcessKey process, std::span<const ThreadTime> times, std::uint64_t now_ns);

  ThreadLedgers take();

  // How many threads are known.
  std::size_t size() const { return begun_.size(); }

 private:
  // How far the account of a thread has been handed out.
  struct Begun {
    std::uint64_t at_ns = 0;
    std::uint64_t ran_ns = 0;
    std::uint64_t entry_ns = 0;  // begun_ns of the programs' account; 0: they have none yet
    std::array<ls_wait_sums, LS_WINDOW_SLOTS> taken{};  // of its sums
  };
  // Where it ends.
  struct End {
    std::uint64_t at_ns = 0;
    std::uint64_t ran_ns = 0;
    std::uint64_t open_ns = 0;
  };
  // A thread that was not over when the recording was.
  struct Closed {
    ls_wait_account account{};
    std::uint64_t left_ns = 0;   // 0: it waits for nothing
    std::uint64_t ended_ns = 0;  // 0: it was running
    // Its last switch, up to which its CPU time is known in any case.
    ProcessKey process;
    std::uint64_t switched_ns = 0;
    std::uint64_t switched_ran_ns = 0;
  };
  Begun begun(Tid tid, const ls_wait_account& account) const;
  static ls_wait_sums rest_of(const Begun& since, const ls_wait_account& account);
  static void add(ProcessKey process, Tid tid, const Begun& since, const End& end,
                  const ls_wait_sums& sums, ThreadLedgers& to);
  void add(ProcessKey process, const ThreadTime& thread, const Closed& closed, std::uint64_t now_ns);
  End end_at(const WaitCut& cut, const ThreadAtCut& thread, const Begun& since,
             const std::uint64_t* ran_ns) const;
  void cut_thread(const WaitCut& cut, const ThreadAtCut& thread, const std::uint64_t* ran_ns,
                  const HandOut& hand_out, ThreadLedgers& window);
  void cut_ended(const WaitCut& cut, const ThreadAtCut& thread, const HandOut& hand_out,
                 ThreadLedgers& window);

  std::unordered_map<std::int32_t, Begun> begun_;    // by tid
  std::unordered_map<std::int32_t, Closed> closed_;  // by tid
  ThreadLedgers ledgers_;
};

}  // namespace labelscope
