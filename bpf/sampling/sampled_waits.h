// What the sampler does for waits, if the mode samples them:
//
//   begin(all threads), enable()  which threads exist, and which wait already
//   while it records              work(); what threads do comes by on_...()
//   disable(), freeze()           waits cease to count, then the CPU time of each thread is read
//   take()                        totals, ledgers, and a sample of each wait that has not ended
//
// In between the recording may be cut into windows:
//
//   begin_cut()                   waits that end later count in the next window
//   look_at_cut()                 no program adds to the last one any more: what threads have of it
//   end_cut()                     what take() has, of the last window
//
// WaitingThreads and WaitAccounts describe the two halves.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/event_source.h"
#include "bpf/sampling/thread_times.h"
#include "bpf/sampling/wait_accounts.h"
#include "bpf/sampling/waiting_threads.h"
#include "bpf/wire/records.h"
#include "sampling/sampler.h"

namespace labelscope {

class SampledWaits final : public EventSource {
 public:
  // `object` must outlive this one. Construct it before labelscope gives up rights.
  SampledWaits(BpfObject& object, const SamplerOptions& options)
      : object_(object), waiting_(object, options) {}

  // The CPU times of all threads at `now_ns`, which their accounts begin with.
  void begin(const ThreadTimes::ByProcess& times, std::uint64_t now_ns);
  std::string_view name() const override { return "sched_switch"; }
  // Lets waits count, and notes which threads of these processes wait now.
  Status enable() override;
  Status begin(Pid pid) { return waiting_.begin(pid, accounts_); }
  // As WaitingThreads::work().
  using EventSource::work;
  Status work(EventHandler& handler, bool all_read) { return waiting_.work(handler, all_read); }

  void on_thread_end(const ThreadWaitsRecord& record);
  // The thread goes on under the number of the process's first thread, which has ended.
  void on_rename(Pid pid, Tid former);
  void on_exec(const ProcessRecord& event);

  Status begin_cut() { return waiting_.begin_cut(); }
  // It lasts until then.
  void look_at_cut() { at_cut_ = waiting_.read_at_cut(); }
  // `times` are the CPU times of all threads at the cut. All records of threads that have ended
  // until look_at_cut() have been given to on_thread_end().
  Status end_cut(EventHandler& handler, const ThreadTimes::ByProcess& times,
                 const std::function<ProcessKey(Pid)>& key_of);
  std::uint64_t cut_ns() const { return waiting_.cut().cut_ns; }
  std::vector<std::uint64_t> labels_in_use() const { return waiting_.labels_in_use(); }

  // Ends the counting of waits, and notes which are open.
  Status disable() override;
  // Behind disable(): the threads of a process that exist, at `now_ns`.
  void freeze(ProcessKey process, std::span<const ThreadTime> times, std::uint64_t now_ns) {
    accounts_.freeze(process, times, now_ns);
  }
  // Returns whether a thread is about to sample a wait of its own.
  bool is_sampling() const;
  // Takes what the kernel has added up, and hands out samples of the waits that are open.
  void take(EventHandler& handler);

  // All of these are of the last window after end_cut(). Until take(), these are those that there
  // were before disable() looked at threads.
  const std::vector<WaitTotal>& totals() const { return totals_; }
  // These are empty until take().
  const std::vector<BlameTotal>& blame() const { return blame_; }
  const ThreadLedgers& ledgers() const { return ledgers_; }
  void add_counts(Counters& counters) const override;

 private:
  void hand_out_open(EventHandler& handler, const Sample& sample);

  BpfObject& object_;
  WaitingThreads waiting_;
  WaitAccounts accounts_;
  std::set<Pid> before_exec_;     // whose waits do not count yet
  std::uint64_t open_count_ = 0;  // samples of waits that had not ended
  std::array<std::uint64_t, LS_OUTCOME_COUNT> open_outcomes_{};
  std::vector<WaitTotal> totals_;
  std::vector<BlameTotal> blame_;
  ThreadLedgers ledgers_;
  // During a cut: threads, and those that have ended since it began.
  std::vector<ThreadAtCut> at_cut_;
  std::vector<ThreadAtCut> ended_at_cut_;
};

}  // namespace labelscope
