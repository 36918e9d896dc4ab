#include "sampling/thread_ledger.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace labelscope {

std::int64_t ThreadLedger::residue_ns() const {
  const std::uint64_t known = cpu_ns + runnable_ns + waiting_ns + blocked_ns + open_ns;
  return static_cast<std::int64_t>(wall_ns - known);
}

void ThreadLedger::add(const ThreadLedger& other) {
  wall_ns += other.wall_ns;
  cpu_ns += other.cpu_ns;
  runnable_ns += other.runnable_ns;
  waiting_ns += other.waiting_ns;
  blocked_ns += other.blocked_ns;
  open_ns += other.open_ns;
  waits += other.waits;
}

void ThreadLedgers::add(const ThreadLedger& thread) {
  threads_.push_back(thread);
  if (threads_.size() >= 2 * kMostThreads) cut();
}

void ThreadLedgers::add_others(const ThreadLedger& sum, std::uint64_t count) {
  others_.add(sum);
  other_count_ += count;
}

void ThreadLedgers::cut() {
  if (threads_.size() <= kMostThreads) return;
  const auto last = threads_.begin() + static_cast<std::ptrdiff_t>(kMostThreads);
  std::ranges::nth_element(threads_, last, std::greater<>(), &ThreadLedger::wall_ns);
  for (auto thread = last; thread != threads_.end(); ++thread) add_others(*thread, 1);
  threads_.resize(kMostThreads);
}

ThreadLedger ThreadLedgers::sum() const {
  ThreadLedger sum = others_;
  for (const ThreadLedger& thread : threads_) sum.add(thread);
  return sum;
}

std::vector<ThreadLedger> ThreadLedgers::worst(std::size_t most) const {
  std::vector<ThreadLedger> worst(std::min(most, threads_.size()));
  const auto size_of = [](const ThreadLedger& thread) { return std::abs(thread.residue_ns()); };
  std::ranges::partial_sort_copy(threads_, worst, std::greater<>(), size_of, size_of);
  return worst;
}

}  // namespace labelscope
