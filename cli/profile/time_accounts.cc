// Keeps stretches of single threads, and pools of all threads that are too short for one.
#include "cli/profile/time_accounts.h"

#include <algorithm>
#include <utility>

namespace labelscope::cli {
namespace {

// A stretch has about this many samples: few, so that the time of a lost sample stays near it.
constexpr std::uint64_t kPeriodsPerStretch = 8;
// Several scheduler ticks, in a kernel with 100 ticks a second.
constexpr std::uint64_t kShortestStretch = 50'000'000;
// A thread's clock may stand still. Its stretch must not grow for ever.
constexpr std::size_t kMostSamples = 65536;

}  // namespace

TimeAccounts::TimeAccounts(Profile& profile, std::uint64_t period_ns)
    : profile_(profile),
      period_ns_(period_ns),
      stretch_ns_(std::max(kPeriodsPerStretch * period_ns, kShortestStretch)) {}

void TimeAccounts::RowCounts::add(Index row, std::uint64_t count) {
  counts_.emplace_back(row, count);
  if (counts_.size() < limit_) return;
  sorted();
  limit_ = std::max(kLeastLimit, 2 * counts_.size());
}

const std::vector<std::pair<Index, std::uint64_t>>& TimeAccounts::RowCounts::sorted() {
  std::ranges::sort(counts_);
  std::size_t last = 0;
  for (std::size_t i = 1; i < counts_.size(); ++i) {
    if (counts_[i].first == counts_[last].first) {
      counts_[last].second += counts_[i].second;
    } else {
      counts_[++last] = counts_[i];
    }
  }
  if (!counts_.empty()) counts_.resize(last + 1);
  return counts_;
}

void TimeAccounts::RowCounts::take(const RowCounts& other) {
  for (const auto& [row, count] : other.counts_) add(row, count);
}

void TimeAccounts::Pool::take(const Pool& other) {
  time_ns += other.time_ns;
  samples.take(other.samples);
}

// The remainder of the division goes to the first samples, one nanosecond each.
void TimeAccounts::share(std::uint64_t time_ns, const std::vector<Index>& rows) {
  const std::uint64_t each = time_ns / rows.size();
  std::uint64_t rest = time_ns % rows.size();
  for (Index index : rows) {
    SampleRow& row = profile_.rows[index];
    row.weight_ns += each + (rest > 0 ? 1 : 0);
    if (rest > 0) --rest;
    if (row.thread != kNoIndex) profile_.threads[row.thread].account = row.thread;
  }
  ledger_.attributed_ns += time_ns;
}

void TimeAccounts::share(Pool& pool) {
  std::uint64_t left = pool.time_ns;
  std::uint64_t samples = 0;
  const auto& counts = pool.samples.sorted();
  for (const auto& [row, count] : counts) samples += count;
  Index account = kNoIndex;
  for (const auto& [index, count] : counts) {
    SampleRow& row = profile_.rows[index];
    const std::uint64_t part = left / samples * count + left % samples * count / samples;
    row.weight_ns += part;
    left -= part;
    samples -= count;
    if (row.thread == kNoIndex) continue;
    if (account == kNoIndex) account = row.thread;
    profile_.threads[row.thread].account = account;
  }
  ledger_.attributed_ns += pool.time_ns;
}

void TimeAccounts::add_sample(Pid pid, Tid tid, std::uint64_t thread_ns, Index row) {
  OpenThread& thread = threads_[raw(tid)];
  // If the time goes back by much, another thread has this number now, and the end of the first one
  // was lost. If it goes back by little, the sample has waited for its labels.
  if (thread_ns + stretch_ns_ < thread.last_ns) {
    close(thread, thread.last_ns);
    thread = {};
  }
  thread.pid = pid;
  thread.last_ns = std::max(thread.last_ns, thread_ns);
  thread.last_row = row;
  thread.samples.push_back(row);
  const std::uint64_t time_ns = thread.last_ns - thread.begun_ns;
  if (time_ns < stretch_ns_ && thread.samples.size() < kMostSamples) return;
  processes_[raw(pid)].known_ns += time_ns;
  share(time_ns, thread.samples);
  thread.samples.clear();
  thread.begun_ns = thread.last_ns;
  thread.has_account = true;
}

void TimeAccounts::close(OpenThread& thread, std::uint64_t thread_ns) {
  const std::uint64_t rest_ns = std::max(thread_ns, thread.last_ns) - thread.begun_ns;
  ProcessAccount& process = processes_[raw(thread.pid)];
  process.known_ns += rest_ns;
  if (thread.has_account) {
    if (thread.samples.empty()) thread.samples.push_back(thread.last_row);
    share(rest_ns, thread.samples);
    return;
  }
  Pool pool{.time_ns = rest_ns, .samples = {}};
  for (const Index row : thread.samples) pool.samples.add(row, 1);
  if (!settle(pool)) process.pool.take(pool);
}

void TimeAccounts::end_thread(Pid pid, Tid tid, std::uint64_t thread_ns) {
  const auto known = threads_.find(raw(tid));
  if (known != threads_.end() && known->second.pid == pid) {
    close(known->second, thread_ns);
    threads_.erase(known);
    return;
  }
  OpenThread unseen{};
  unseen.pid = pid;
  close(unseen, thread_ns);
}

void TimeAccounts::end_process(Pid pid, std::uint64_t process_ns) {
  ProcessAccount& process = processes_[raw(pid)];
  if (process_ns <= process.known_ns) return;
  process.pool.time_ns += process_ns - process.known_ns;
  beyond_threads_ns_ += process_ns - process.known_ns;
  process.known_ns = process_ns;
}

bool TimeAccounts::settle(Pool& pool) {
  if (pool.time_ns < stretch_ns_) return false;
  // So much time without a sample is not by chance: the samples were lost, or none were taken.
  if (pool.samples.empty()) {
    ledger_.unsampled_ns += pool.time_ns;
  } else {
    share(pool);
  }
  return true;
}

TimeLedger TimeAccounts::settle(std::uint64_t lost_ns, std::uint64_t whole_ns) {
  for (auto& [tid, thread] : std::exchange(threads_, {})) close(thread, thread.last_ns);
  Pool all;
  std::uint64_t known_ns = 0;
  for (auto& [pid, process] : processes_) {
    known_ns += process.known_ns;
    if (!settle(process.pool)) all.take(process.pool);
  }
  // The lost time of a process whose whole time is known is in its pool already.
  lost_ns -= std::min(lost_ns, beyond_threads_ns_);
  if (whole_ns != 0) lost_ns = std::min(lost_ns, whole_ns - std::min(whole_ns, known_ns));
  known_ns += lost_ns;
  all.time_ns += whole_ns - std::min(whole_ns, known_ns);
  processes_.clear();
  if (all.samples.empty()) {
    ledger_.unsampled_ns += all.time_ns;
  } else {
    share(all);
  }
  ledger_.lost_ns += lost_ns;
  if (ledger_.attributed_ns == 0) {
    // The kernel did not report the time, or it was less than a tick. So each sample stands for a
    // period.
    for (SampleRow& row : profile_.rows) {
      // Waits have weights of their own, be they 0.
      if (row.weight_ns != 0 || is_wait(profile_.values[row.value])) continue;
      row.weight_ns = row.count * period_ns_;
      ledger_.attributed_ns += row.weight_ns;
    }
  }
  return ledger_;
}

}  // namespace labelscope::cli
