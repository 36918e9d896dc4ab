#include "cli/record/wait_differences.h"

#include <algorithm>

#include "cli/profile/wait_reason.h"

namespace labelscope::cli {
namespace {

std::uint64_t excess(std::uint64_t more, std::uint64_t less) {
  return more - std::min(more, less);
}

struct Differences {
  std::uint64_t twice_ns = 0;
  std::uint64_t missing_ns = 0;
  // Takes larger ones, without what is usual.
  void take(std::uint64_t twice, std::uint64_t missing, std::uint64_t usual_ns) {
    if (twice > usual_ns) twice_ns = std::max(twice_ns, twice);
    if (missing > usual_ns) missing_ns = std::max(missing_ns, missing);
  }
};

// The clocks of threads are up to a tick behind, and each switch costs some microseconds that two
// accounts have, or none.
std::uint64_t usual_ns(std::uint64_t threads, std::uint64_t waits, std::uint64_t whole_ns) {
  constexpr std::uint64_t kTickNs = 10'000'000;
  constexpr std::uint64_t kFewThreads = 4;
  constexpr std::uint64_t kSwitchNs = 10'000;
  constexpr std::uint64_t kOneIn = 100;
  return std::max(std::max(threads, kFewThreads) * kTickNs, whole_ns / kOneIn) + waits * kSwitchNs;
}

// Of a thread that waited for a processor when the recording began, schedstat has that whole wait,
// as soon as it has got one; and labelscope's own start may have kept all processors for a while.
std::uint64_t first_wait_ns(const ThreadLedger& thread) {
  constexpr std::uint64_t kLong = 100'000'000;
  constexpr std::uint64_t kUsualWaits = 10;
  return kLong + kUsualWaits * thread.runnable_ns / std::max<std::uint64_t>(thread.waits, 1);
}

// What a group of processes may not use is no wait for a processor to the kernel.
std::uint64_t throttled_ns(const Profile& profile) {
  const std::string throttled = wait_reason(LS_RUNNABLE, LS_CALL_THROTTLED);
  std::uint64_t sum = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex && is_wait(profile.values[row.value]) &&
        reason_of(profile.label_sets[row.label_set]) == throttled)
      sum += row.weight_ns;
  }
  return sum;
}

}  // namespace

std::vector<ThreadTime> QueueClocks::read(Pid pid) {
  auto times = read_thread_times(pid);
  return times ? *std::move(times) : std::vector<ThreadTime>();
}

void QueueClocks::expect(Pid pid) {
  if (count_ >= kMostThreads) return;
  auto& threads = threads_[raw(pid)];
  for (const ThreadTime& thread : read_(pid)) {
    if (count_ >= kMostThreads) break;
    count_ += threads.try_emplace(raw(thread.tid), Readings{thread.waited_ns, 0, 0, 1}).second;
  }
}

void QueueClocks::read_all(std::uint64_t Readings::*place) {
  for (auto& [pid, threads] : threads_) {
    if (threads.empty()) continue;
    for (const ThreadTime& thread : read_(Pid{pid})) {
      const auto known = threads.find(raw(thread.tid));
      if (known == threads.end()) continue;
      known->second.*place = thread.waited_ns;
      ++known->second.taken;
    }
  }
}

void QueueClocks::begin() { read_all(&Readings::after_start); }
void QueueClocks::expect_stop() { read_all(&Readings::before_stop); }

void QueueClocks::stop() {
  constexpr unsigned kBeforeLast = 3;
  for (const auto& [pid, threads] : threads_) {
    if (threads.empty()) continue;
    for (const ThreadTime& thread : read_(Pid{pid})) {
      const auto known = threads.find(raw(thread.tid));
      if (known == threads.end() || known->second.taken != kBeforeLast) continue;
      const Readings& before = known->second;
      // Another thread has this number now.
      if (before.after_start < before.before_start || before.before_stop < before.after_start ||
          thread.waited_ns < before.before_stop)
        continue;
      bounds_[{pid, raw(thread.tid)}] = {before.before_stop - before.after_start,
                                         thread.waited_ns - before.before_start};
    }
  }
  threads_.clear();
}

void note_wait_differences(Profile& profile, const QueueClocks& clocks, std::uint64_t stolen_ns) {
  const ThreadLedgers& ledgers = profile.thread_ledgers;
  if (ledgers.count() == 0) return;
  Differences differences;
  const ThreadLedger sum = ledgers.sum();

  // The totals, and what the programs have of each thread.
  std::uint64_t in_rows_ns = profile.ledger.time.unsampled_waits_ns;
  for (const SampleRow& row : profile.rows) {
    if (is_wait(profile.values[row.value])) in_rows_ns += row.weight_ns;
  }
  const std::uint64_t in_ledgers_ns =
      sum.runnable_ns + sum.waiting_ns + sum.blocked_ns + sum.open_ns;
  // Threads may have no line of their own: their waits are in the rows alone.
  const Counts& counters = profile.ledger.counters;
  const bool lacks_threads =
      counters[Counter::kDroppedThreadWaits] != 0 || counters[Counter::kWaitsWithoutRoom] != 0;
  differences.take(lacks_threads ? 0 : excess(in_rows_ns, in_ledgers_ns),
                   excess(in_ledgers_ns, in_rows_ns),
                   usual_ns(ledgers.count(), 0, in_ledgers_ns));

  // The clock, and schedstat.
  // Null: threads that had this number one after the other have several lines.
  std::map<QueueClocks::Thread, const ThreadLedger*> queued;
  std::uint64_t clock_twice_ns = 0;
  std::uint64_t clock_missing_ns = 0;
  for (const ThreadLedger& thread : ledgers.threads()) {
    const std::int64_t residue = thread.residue_ns();
    (residue < 0 ? clock_twice_ns : clock_missing_ns) +=
        residue < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(residue)
                    : static_cast<std::uint64_t>(residue);
    const auto [line, fresh] = queued.try_emplace({raw(thread.process.pid), raw(thread.tid)}, &thread);
    if (!fresh) line->second = nullptr;
  }
  differences.take(excess(clock_twice_ns, stolen_ns), excess(clock_missing_ns, stolen_ns),
                   usual_ns(ledgers.count(), sum.waits, sum.wall_ns));

  std::uint64_t queue_twice_ns = 0;
  std::uint64_t queue_missing_ns = 0;
  std::uint64_t queue_ns = 0;
  std::uint64_t threads = 0;
  for (const auto& [thread, bounds] : clocks.bounds()) {
    const auto line = queued.find(thread);
    if (line == queued.end() || line->second == nullptr) continue;
    const ThreadLedger& own = *line->second;
    queue_twice_ns += excess(own.runnable_ns, bounds.most_ns);
    queue_missing_ns += excess(bounds.least_ns, own.runnable_ns + first_wait_ns(own));
    queue_ns += bounds.most_ns;
    ++threads;
  }
  constexpr std::uint64_t kOneIn = 20;
  differences.take(excess(queue_twice_ns, throttled_ns(profile)), queue_missing_ns,
                   std::max(usual_ns(threads, 0, 0) + sum.waits * 1000, queue_ns / kOneIn));

  profile.ledger.time.waits_twice_ns = differences.twice_ns;
  profile.ledger.time.waits_missing_ns = differences.missing_ns;
}

}  // namespace labelscope::cli
