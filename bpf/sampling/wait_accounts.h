// WaitAccounts makes the ledger of each thread of a recording: what the BPF programs have added up
// of its waits, and what the kernel has counted of its CPU time, from the beginning to the end.
//
//   a thread that is there when the recording begins   begin() ............ end() or close()
//   a thread that comes later     the programs see it begin ............... end() or close()
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

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
  // Another thread has this number now.
  void forget(Tid tid) { begun_.erase(raw(tid)); }
  // The thread has left its last processor.
  void end(const ThreadWaitsRecord& record);

  // The end of the recording: `threads` are those that the programs know, at `closed_ns`.
  void close(std::span<const std::pair<Tid, ls_off_cpu>> threads, std::uint64_t closed_ns);
  // Behind close(): the threads of a process that exist, at `now_ns`.
  void freeze(ProcessKey process, std::span<const ThreadTime> times, std::uint64_t now_ns);

  ThreadLedgers take();

 private:
  struct Begun {
    std::uint64_t at_ns = 0;
    std::uint64_t ran_ns = 0;
  };
  // A thread that was not over when the recording was.
  struct Closed {
    ls_wait_account account{};
    std::uint64_t open_ns = 0;
    std::uint64_t ended_ns = 0;  // 0: it was running
    // Its last switch, up to which its CPU time is known in any case.
    ProcessKey process;
    std::uint64_t switched_ns = 0;
    std::uint64_t switched_ran_ns = 0;
  };
  Begun begun(Tid tid, const ls_wait_account& account) const;
  void add(ProcessKey process, const ThreadTime& thread, const Closed& closed, std::uint64_t now_ns);

  std::unordered_map<std::int32_t, Begun> begun_;    // by tid
  std::unordered_map<std::int32_t, Closed> closed_;  // by tid
  ThreadLedgers ledgers_;
};

}  // namespace labelscope
