// How a recording of waits is cut (programs/wait_window.bpf.h).
#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "bpf/sampling/wait_values.h"
#include "bpf/sampling/waiting_threads.h"

namespace labelscope {

Status WaitingThreads::begin_cut() {
  const std::uint64_t now_ns = ls_cut_of(monotonic_ns());
  const std::uint64_t cut_ns = std::max<std::uint64_t>(now_ns, cut_.cut_ns + LS_GENERATIONS);
  const std::uint64_t next = cut_ns | (ls_generation_of(window_) ^ LS_WINDOW_SLOTS);
  if (Status status = object_.set_wait_window(next); !status) return status;
  cut_began_ = std::chrono::steady_clock::now();
  cut_ = {cut_.cut_ns, cut_ns, ls_slot_in(window_)};
  window_ = next;
  closed_ns_ = cut_ns;
  is_cutting_ = true;
  return {};
}

std::vector<ThreadAtCut> WaitingThreads::read_at_cut() {
  std::this_thread::sleep_until(cut_began_ + kQuiet);
  const WaitingEntries first = object_.off_cpu_threads();
  // A thread that waits for long has the labels that it had at the cut before.
  look(first, [&](Tid tid, const ls_off_cpu& thread) {
    const auto seen = seen_.find(raw(tid));
    const bool is_seen = seen != seen_.end() && seen->second.left_ns == thread.left_ns;
    return thread.labels == LS_LABELS_LATER && !is_seen;
  });
  const WaitingEntries second = object_.off_cpu_threads();
  forget_seen(first, second);
  return threads_at(cut_, first, second);
}

// What was seen of waits that are over.
void WaitingThreads::forget_seen(const WaitingEntries& first, const WaitingEntries& second) {
  std::set<std::pair<std::int32_t, std::uint64_t>> waits;
  for (const WaitingEntries* entries : {&first, &second}) {
    for (const auto& [tid, thread] : *entries) waits.emplace(raw(tid), thread.left_ns);
  }
  std::erase_if(seen_, [&](const auto& entry) {
    return !waits.contains({entry.first, entry.second.left_ns});
  });
}

// Such threads have gone on under another number, or nobody has seen their ends. One that works in
// its end, which no list has either, leaves its processor sooner.
void WaitingThreads::forget_idle(std::span<const ThreadAtCut> threads,
                                 const WaitAccounts::Times& times) {
  std::set<Tid> there;
  for (const auto& [pid, all] : times) {
    for (const ThreadTime& thread : all) there.insert(thread.tid);
  }
  std::map<IdleThread, unsigned> idle;
  for (const ThreadAtCut& thread : threads) {
    if (thread.open || there.contains(thread.tid)) continue;
    const IdleThread key{thread.tid, thread.account.begun_ns, thread.switched_ns};
    const auto before = idle_.find(key);
    const unsigned cuts = before == idle_.end() ? 1 : before->second + 1;
    if (cuts < kCutsUntilGone) {
      idle.emplace(key, cuts);
    } else {
      object_.forget_thread(thread.tid, thread.account.begun_ns);
    }
  }
  idle_ = std::move(idle);
}

std::vector<WaitTotal> WaitingThreads::lost_since() {
  std::vector<WaitTotal> lost = lost_of(lost_);
  for (const WaitTotal& one : lost) lost_.lost_ns[part_of_kind(one.kind)] += one.time_ns;
  return lost;
}

Status WaitingThreads::take_old(EventHandler& handler) {
  hand_out_old(handler);
  is_cutting_ = false;
  const auto made = object_.totals_made();
  if (!made) return made.error();
  made_ = *made;
  generation_began_ = last_taken_ = std::chrono::steady_clock::now();
  return {};
}

std::vector<std::uint64_t> WaitingThreads::labels_in_use() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [tid, thread] : object_.off_cpu_threads()) {
    for (const std::uint64_t number : {thread.labels, thread.blame_labels, thread.last_labels,
                                       thread.held.labels, thread.divided.labels})
      numbers.push_back(number);
  }
  for (const auto& [tid, woken] : object_.woken_threads()) {
    numbers.push_back(woken.waker.labels);
    numbers.push_back(woken.owner.who.labels);
  }
  // What a number of waits has in blame is not sent again as long as the kernel knows the first.
  for (const auto& [number, published] : object_.published_labels())
    numbers.push_back(published.blame);
  for (const auto& [key, total] : late_) {
    numbers.push_back(key.wait.labels);
    numbers.push_back(key.who.labels);
  }
  std::erase_if(numbers, [](std::uint64_t number) { return number < LS_FIRST_LABEL_NUMBER; });
  return numbers;
}

// Without what windows before have.
std::vector<WaitTotal> WaitingThreads::lost_of(const ls_totals_made& before) const {
  std::vector<WaitTotal> all;
  const auto made_at_all = object_.totals_made();
  for (int part = 0; made_at_all && part < LS_WAIT_PARTS; ++part) {
    const std::uint64_t lost_ns = made_at_all->lost_ns[part] - before.lost_ns[part];
    if (lost_ns == 0) continue;
    WaitTotal made;
    made.kind = kKindOfPart[part];
    made.labels = kUnknownLabels;
    made.time_ns = lost_ns;
    all.push_back(made);
  }
  return all;
}

// A thread that reads its labels between totals() and take_open() would have its waits in neither.
void WaitingThreads::settle_late() {
  const WaitingEntries threads = object_.off_cpu_threads();
  const bool has_late = std::ranges::any_of(threads, [this](const auto& entry) {
    return std::ranges::any_of(entry.second.late, [this](const ls_late_waits& late) {
      return late.cut_ns == cut_.cut_ns && late.ns[0] + late.ns[1] + late.ns[2] != 0;
    });
  });
  if (!has_late) return;
  const std::uint64_t end_ns = std::max<std::uint64_t>(ls_cut_of(monotonic_ns()), cut_.cut_ns + LS_GENERATIONS);
  window_ = end_ns | (ls_generation_of(window_) ^ LS_WINDOW_SLOTS);
  static_cast<void>(object_.set_wait_window(window_));
  std::this_thread::sleep_for(kQuiet);
}

}  // namespace labelscope
