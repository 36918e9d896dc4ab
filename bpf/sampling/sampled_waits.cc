#include "bpf/sampling/sampled_waits.h"

#include <algorithm>

#include "base/clock.h"

namespace labelscope {

void SampledWaits::begin(const ThreadTimes::ByProcess& times, std::uint64_t now_ns) {
  for (const auto& [pid, threads] : times) {
    const auto process = object_.process(pid);
    if (process && process->until_exec != 0) {
      before_exec_.insert(pid);
    } else {
      accounts_.begin(threads, now_ns);
    }
  }
}

Status SampledWaits::enable() {
  if (Status status = waiting_.begin(); !status) return status;
  if (Status status = object_.start_waits(); !status) return status;
  // Children that were forked before the programs were attached are in this list, and the programs
  // know those that are forked later.
  for (const Pid pid : object_.pids()) {
    Status status = begin(pid);
    if (!status && status.error().code != ErrorCode::kVanished) return status;
  }
  return {};
}

void SampledWaits::on_thread_end(const ThreadWaitsRecord& record) {
  if (waiting_.is_cutting()) {
    ended_at_cut_.push_back(thread_at(waiting_.cut(), record));
  } else {
    accounts_.end(record);
  }
}

void SampledWaits::hand_out_open(EventHandler& handler, const Sample& sample) {
  ++open_count_;
  ++open_outcomes_[sample.outcome];
  handler.on_sample(sample);
}

Status SampledWaits::end_cut(EventHandler& handler, const ThreadTimes::ByProcess& times,
                             const std::function<ProcessKey(Pid)>& key_of) {
  const auto hand_out = [&](const ThreadAtCut& thread, const WaitParts& open) {
    waiting_.take_at_cut(thread, open, [&](const Sample& sample) { hand_out_open(handler, sample); });
  };
  ledgers_ = accounts_.cut(waiting_.cut(), at_cut_, ended_at_cut_, times, key_of, hand_out);
  waiting_.forget_idle(at_cut_, times);
  at_cut_ = {};
  ended_at_cut_ = {};
  totals_ = waiting_.lost_since();
  blame_ = {};
  return waiting_.take_old(handler);
}

void SampledWaits::on_rename(Pid pid, Tid former) {
  accounts_.forget(Tid{raw(pid)});
  accounts_.forget(former);
}

void SampledWaits::on_exec(const ProcessRecord& event) {
  if (before_exec_.erase(event.pid) == 0) return;
  const ThreadTime thread{Tid{raw(event.pid)}, event.thread_ns};
  accounts_.begin({&thread, 1}, event.time_ns);
}

Status SampledWaits::disable() {
  // A page of labels may never come. Then nobody calls take(), and these are what is known.
  totals_ = waiting_.totals();
  waiting_.look();
  const std::uint64_t now_ns = monotonic_ns();
  object_.stop_waits();
  waiting_.close(now_ns, accounts_);
  return {};
}

bool SampledWaits::is_sampling() const {
  const auto threads = object_.off_cpu_threads();
  return std::ranges::any_of(threads,
                             [](const auto& thread) { return thread.second.at_work != 0; });
}

void SampledWaits::take(EventHandler& handler) {
  waiting_.settle_late();
  totals_ = waiting_.totals();
  blame_ = waiting_.blame();
  ledgers_ = accounts_.take();
  waiting_.take_open([&](const Sample& sample) { hand_out_open(handler, sample); });
}

void SampledWaits::add_counts(Counters& counters) const {
  counters.taken += open_count_;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) counters.outcomes[i] += open_outcomes_[i];
  counters.others[Counter::kWaitWeightsChanged] = waiting_.changes();
  counters.others[Counter::kWaitsWithoutRoom] += waiting_.without_room();
}

}  // namespace labelscope
