// Keeps stretches of single threads, and pools of all threads that are too short for one.
#include "cli/profile/time_accounts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace labelscope::cli {
namespace {

// A stretch has about this many samples: few, so that the time of a lost sample stays near it.
constexpr std::uint64_t kPeriodsPerStretch = 8;
// Several scheduler ticks, in a kernel with 100 ticks a second.
constexpr std::uint64_t kShortestStretch = 50'000'000;
// In a kernel with 100 ticks a second.
constexpr std::uint64_t kLongestTick = 10'000'000;
// A thread's clock may stand still. Its stretch must not grow for ever.
constexpr std::size_t kMostSamples = 65536;
// The end of a thread may be lost. If nothing is heard of it in so many windows, it is forgotten
// where there are very many: whose end comes after all would bring its whole time once more.
constexpr unsigned kSilentWindows = 8;
constexpr std::size_t kMostSilent = 65'536;

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

void TimeAccounts::add_sample(ProcessKey process, Tid tid, std::uint64_t time_ns,
                              std::uint64_t thread_ns, Index row) {
  OpenThread& thread = threads_[raw(tid)];
  // An older sample has waited for its labels, perhaps for very long: it shares the stretch that is
  // open now, and changes no time. If a younger one has much less time, another thread has this
  // number now, and the end of the first one was lost.
  const bool is_older = time_ns < thread.last_time_ns;
  const bool is_first = !thread.is_known;
  if (!is_first && !is_older) replace_other(thread, process, thread_ns);
  if (is_first || !is_older) {
    thread.is_known = true;
    thread.process = process;
    thread.last_ns = std::max(thread.last_ns, thread_ns);
    thread.last_time_ns = time_ns;
    thread.last_row = row;
  }
  thread.is_sampled = true;
  thread.samples.push_back(row);
  const std::uint64_t ran_ns = thread.last_ns - thread.begun_ns;
  if (ran_ns < stretch_ns_ && thread.samples.size() < kMostSamples) return;
  numbers_[raw(process.pid)].known_ns += ran_ns;
  thread.shared_ns += ran_ns;
  share(ran_ns, thread.samples);
  thread.samples.clear();
  thread.begun_ns = thread.last_ns;
  thread.has_account = true;
}

void TimeAccounts::close(OpenThread& thread, std::uint64_t thread_ns, bool ends) {
  const std::uint64_t rest_ns = std::max(thread_ns, thread.last_ns) - thread.begun_ns;
  NumberAccount& number = numbers_[raw(thread.process.pid)];
  number.known_ns += rest_ns;
  if (ends) number.tails_ns += std::min(thread.shared_ns + rest_ns, kLongestTick);
  if (thread.has_account && (!thread.samples.empty() || thread.last_row != kNoIndex)) {
    if (thread.samples.empty()) thread.samples.push_back(thread.last_row);
    share(rest_ns, thread.samples);
    return;
  }
  Pool pool{.time_ns = rest_ns, .samples = {}};
  for (const Index row : thread.samples) pool.samples.add(row, 1);
  if (!settle(pool)) number.pools[thread.process.life].take(pool);
}

// Closes the account if its number is another thread's now: one of another process, or one with
// much less time, if the end of the first one was lost. A thread whose process has executed another
// program goes on there if its time does.
void TimeAccounts::replace_other(OpenThread& thread, ProcessKey process, std::uint64_t thread_ns) {
  const std::uint64_t last_ns = thread.last_ns;
  const bool goes_on = thread.process.pid == process.pid && thread_ns + stretch_ns_ >= last_ns;
  if (goes_on && thread.process == process) return;
  close(thread, last_ns, !goes_on);
  thread = {};
  if (goes_on) thread.begun_ns = thread.last_ns = last_ns;
}

// A thread that goes on does so in another window, where none of its rows is known.
bool TimeAccounts::interrupt(OpenThread& thread) {
  if (thread.is_advanced && thread.last_ns != thread.begun_ns)
    numbers_[raw(thread.process.pid)].at_cut_ns += kLongestTick;
  close(thread, thread.last_ns, !thread.is_advanced);
  thread.silent = thread.is_advanced || thread.is_sampled ? 0 : thread.silent + 1;
  thread.shared_ns += thread.last_ns - thread.begun_ns;
  thread.begun_ns = thread.last_ns;
  thread.last_row = kNoIndex;
  thread.samples.clear();
  thread.has_account = thread.is_sampled = thread.is_advanced = false;
  return thread.silent < kSilentWindows;
}

void TimeAccounts::advance_thread(ProcessKey process, Tid tid, std::uint64_t time_ns,
                                  std::uint64_t thread_ns) {
  OpenThread& thread = threads_[raw(tid)];
  if (thread.is_known) replace_other(thread, process, thread_ns);
  thread.is_known = thread.is_advanced = true;
  thread.process = process;
  thread.last_ns = std::max(thread.last_ns, thread_ns);
  thread.last_time_ns = std::max(thread.last_time_ns, time_ns);
}

void TimeAccounts::end_thread(ProcessKey process, Tid tid, std::uint64_t thread_ns) {
  const auto known = threads_.find(raw(tid));
  if (known != threads_.end() && known->second.process.pid == process.pid) {
    close(known->second, thread_ns);
    threads_.erase(known);
    return;
  }
  OpenThread unseen{};
  unseen.process = process;
  close(unseen, thread_ns);
}

void TimeAccounts::set_process_time(Pid pid, std::uint64_t least_ns, std::uint64_t most_ns) {
  NumberAccount& number = numbers_[raw(pid)];
  number.least_ns = least_ns;
  number.most_ns = most_ns;
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

// The number of samples in so much time is by chance. So many samples may stand for what is three
// standard errors longer than usual, and never for hours.
std::uint64_t TimeAccounts::room_for(Pool& pool, std::uint64_t time_ns) const {
  double samples = 0;
  for (const auto& [row, count] : pool.samples.sorted()) samples += static_cast<double>(count);
  const double most = (samples + 3 * std::sqrt(samples) + 3) * static_cast<double>(period_ns_);
  const auto room = static_cast<std::uint64_t>(most);
  return std::min(time_ns, room - std::min(room, pool.time_ns));
}

std::uint64_t TimeAccounts::beyond(std::uint64_t least_ns, std::uint64_t known_ns,
                                   std::uint64_t at_cut_ns, std::uint64_t& owed_ns) {
  const std::uint64_t whole_ns = least_ns + owed_ns;
  const std::uint64_t beyond_ns = whole_ns - std::min(whole_ns, known_ns);
  owed_ns = std::min(beyond_ns, at_cut_ns);
  return beyond_ns - owed_ns;
}

TimeLedger TimeAccounts::cut(const KernelTotals& totals, bool is_last) {
  const bool is_crowded = threads_.size() > kMostSilent;
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    const bool stays = interrupt(thread->second) || !is_crowded;
    thread = stays ? std::next(thread) : threads_.erase(thread);
  }
  Pool all;
  std::uint64_t known_ns = 0;
  std::uint64_t beyond_threads_ns = 0;
  std::uint64_t at_cut_ns = 0;
  if (totals.is_all_the_rest) whole_owed_ = 0;
  std::uint64_t before_ns = whole_owed_;
  // Those of which this window has nothing else.
  for (const auto& [pid, owed_ns] : owed_) numbers_.try_emplace(pid);
  auto owed = std::exchange(owed_, {});
  for (auto& [pid, number] : numbers_) {
    if (is_last) number.at_cut_ns = 0;
    at_cut_ns += number.at_cut_ns;
    std::uint64_t owed_ns = owed.contains(pid) ? owed.at(pid) : 0;
    before_ns += owed_ns;
    // The clock had shown what was owed in the window before.
    const std::uint64_t known_surely =
        number.known_ns - std::min(number.known_ns, number.tails_ns + owed_ns);
    if (known_surely > number.most_ns) ledger_.twice_ns += known_surely - number.most_ns;
    const std::uint64_t beyond_ns =
        beyond(number.least_ns, number.known_ns, number.at_cut_ns, owed_ns);
    if (owed_ns != 0) owed_.emplace(pid, owed_ns);
    if (beyond_ns != 0) {
      // Whichever of them it was.
      Pool whole{.time_ns = beyond_ns, .samples = {}};
      for (const auto& [life, pool] : std::exchange(number.pools, {})) whole.take(pool);
      number.pools.emplace(0, std::move(whole));
      beyond_threads_ns += beyond_ns;
      number.known_ns += beyond_ns;
    }
    known_ns += number.known_ns;
    for (auto& [life, pool] : number.pools) {
      if (!settle(pool)) all.take(pool);
    }
  }
  // The lost time of a process whose whole time is known is in its pool already.
  std::uint64_t lost_ns = totals.lost_ns - std::min(totals.lost_ns, beyond_threads_ns);
  const std::uint64_t whole_ns = totals.whole_ns;
  if (whole_ns != 0) lost_ns = std::min(lost_ns, whole_ns - std::min(whole_ns, known_ns));
  if (known_ns - std::min(known_ns, before_ns) > totals.most_ns) {
    ledger_.twice_ns = std::max(ledger_.twice_ns, known_ns - before_ns - totals.most_ns);
  }
  // It is the whole life of a thread, also before the recording.
  lost_ns = std::min(lost_ns, totals.most_ns - std::min(totals.most_ns, known_ns));
  known_ns += lost_ns;
  // This is of processes that ended before anybody could look at their clocks. Short processes that
  // were sampled may be like them; those that were not recorded are not.
  const std::uint64_t unseen_ns = beyond(whole_ns, known_ns, at_cut_ns, whole_owed_);
  const std::uint64_t alike_ns = totals.has_strangers ? 0 : room_for(all, unseen_ns);
  ledger_.unsampled_ns += unseen_ns - alike_ns;
  all.time_ns += alike_ns;
  ledger_.missing_ns += beyond_threads_ns + unseen_ns;
  numbers_.clear();
  if (all.samples.empty()) {
    ledger_.unsampled_ns += all.time_ns;
  } else {
    share(all);
  }
  ledger_.lost_ns += lost_ns;
  if (ledger_.attributed_ns == 0 && !has_time_) {
    // The kernel does not report the time, or it was less than a tick. So each sample stands for a
    // period.
    for (SampleRow& row : profile_.rows) {
      // Some kinds have weights of their own, be they 0.
      if (row.weight_ns != 0 || !is_by_account(profile_.values[row.value])) continue;
      row.weight_ns = row.count * period_ns_;
      ledger_.attributed_ns += row.weight_ns;
    }
  }
  has_time_ |= known_ns != 0;
  return std::exchange(ledger_, {});
}

}  // namespace labelscope::cli
