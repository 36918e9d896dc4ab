#include "bpf/sampling/thread_clocks.h"

#include <algorithm>

namespace labelscope {

void ThreadClocks::begin(Pid pid) {
  auto times = read_thread_times(pid);
  if (!times) {
    if (times.error().code != ErrorCode::kVanished) without_times_.insert(pid);
    return;
  }
  begin(pid, *times);
}

void ThreadClocks::begin(Pid pid, std::span<const ThreadTime> times) {
  for (const ThreadTime& thread : times) {
    Clock& clock = clocks_[raw(thread.tid)];
    clock.before_ns = static_cast<std::int64_t>(thread.ran_ns);
    set_identity(pid, thread.tid, clock, thread.identity);
  }
}

// Only an exec gives a thread another number, that of the first thread.
Tid ThreadClocks::number_of(Pid pid, Tid tid, std::uint32_t identity) const {
  if (raw(tid) != raw(pid)) return tid;
  const auto known = numbers_.find(identity);
  return known == numbers_.end() || known->second.first != pid ? tid : known->second.second;
}

void ThreadClocks::set_identity(Pid pid, Tid tid, Clock& clock, std::uint32_t identity) {
  if (clock.identity != 0 && clock.identity != identity) numbers_.erase(clock.identity);
  clock.identity = identity;
  clock.may_change = false;
  if (identity != 0) numbers_[identity] = {pid, tid};
}

std::uint64_t ThreadClocks::ran(Clock& clock, std::uint64_t thread_ns) const {
  const auto time_ns = static_cast<std::int64_t>(thread_ns);
  // The time is less than at the beginning, so this is another thread, which has got the number
  // since.
  if (time_ns < clock.before_ns) clock.before_ns = 0;
  return static_cast<std::uint64_t>(time_ns - clock.before_ns);
}

ThreadClocks::Time ThreadClocks::at(Pid pid, Tid tid, std::uint32_t identity,
                                    std::uint64_t thread_ns) {
  const Tid number = number_of(pid, tid, identity);
  const auto [entry, is_new] = clocks_.try_emplace(raw(number));
  Clock& clock = entry->second;
  // A thread that is not known was created since sampling began.
  if (is_new && without_times_.contains(pid)) {
    clock.before_ns = static_cast<std::int64_t>(thread_ns);
  }
  if (identity != 0 && clock.identity != identity) {
    const bool is_other = clock.identity != 0;
    if (is_other && clock.may_change) {
      clock.before_ns = static_cast<std::int64_t>(thread_ns - clock.ran_ns);
    } else if (is_other && raw(number) == raw(pid)) {
      return {pid, number, clock.ran_ns};
    } else if (is_other) {
      numbers_.erase(clock.identity);
      clock = {};  // the end of the thread that had this number before was lost
    }
    set_identity(pid, number, clock, identity);
  }
  const std::uint64_t ran_ns = ran(clock, thread_ns);
  clock.ran_ns = std::max(clock.ran_ns, ran_ns);
  return {pid, number, ran_ns};
}

std::optional<ThreadClocks::Time> ThreadClocks::end(Pid pid, Tid tid, std::uint32_t identity,
                                                    std::uint64_t thread_ns) {
  const Tid number = number_of(pid, tid, identity);
  const auto known = clocks_.find(raw(number));
  if (known != clocks_.end()) {
    const std::uint32_t its = known->second.identity;
    if (identity != 0 && its != 0 && its != identity) return std::nullopt;
  }
  if (auto frozen = frozen_.extract(raw(number))) {
    thread_ns = std::min(thread_ns, frozen.mapped().thread_ns);
  }
  const Time ended = at(pid, number, 0, thread_ns);
  if (const auto clock = clocks_.extract(raw(number))) numbers_.erase(clock.mapped().identity);
  return ended;
}

std::optional<ThreadClocks::Time> ThreadClocks::exec(Pid pid, Tid former, std::uint32_t identity,
                                                     std::uint64_t thread_ns) {
  const Tid first{raw(pid)};
  const auto known = clocks_.find(raw(first));
  // It is the first thread; or that one had ended before, and the thread was sampled under its
  // number from then on.
  if (known != clocks_.end() && identity != 0 && known->second.identity == identity) {
    return std::nullopt;
  }
  if (raw(former) == 0) former = number_of(pid, first, identity);
  if (former == first) {
    // Either it is the first thread, of which no sample had an identity, or nothing is known of it.
    if (known != clocks_.end() && known->second.identity != 0) known->second.may_change = true;
    return std::nullopt;
  }
  auto frozen = frozen_.extract(raw(former));
  if (frozen) thread_ns = std::min(thread_ns, frozen.mapped().thread_ns);
  const auto ended = end(pid, former, identity, thread_ns);
  frozen_.erase(raw(first));
  if (frozen) frozen_[raw(first)] = frozen.mapped();
  Clock& clock = clocks_[raw(first)];
  set_identity(pid, first, clock, identity);
  clock.before_ns = static_cast<std::int64_t>(thread_ns);
  clock.ran_ns = 0;
  return ended;
}

void ThreadClocks::note_unseen_exec(Pid pid) {
  if (const auto known = clocks_.find(raw(pid)); known != clocks_.end()) {
    known->second.may_change = true;
  }
}

void ThreadClocks::forget_identity(Tid tid) {
  const auto known = clocks_.find(raw(tid));
  if (known != clocks_.end()) set_identity(Pid{}, tid, known->second, 0);
}

void ThreadClocks::freeze(Pid pid) {
  auto times = read_thread_times(pid);
  if (times) freeze(pid, *times);
}

void ThreadClocks::freeze(Pid pid, std::span<const ThreadTime> times) {
  for (const ThreadTime& thread : times) {
    frozen_[raw(number_of(pid, thread.tid, thread.identity))] = {pid, thread.ran_ns};
  }
}

bool ThreadClocks::is_frozen(Pid pid, Tid tid, std::uint32_t identity) const {
  return frozen_.contains(raw(number_of(pid, tid, identity)));
}

bool ThreadClocks::is_of_other(Pid pid, Tid tid, std::uint32_t identity) const {
  const auto known = clocks_.find(raw(number_of(pid, tid, identity)));
  if (known == clocks_.end() || identity == 0 || known->second.may_change) return false;
  return known->second.identity != 0 && known->second.identity != identity;
}

std::vector<ThreadClocks::Time> ThreadClocks::take_frozen() {
  std::vector<Time> ended;
  while (!frozen_.empty()) {
    const auto& [tid, thread] = *frozen_.begin();
    if (const auto time = end(thread.pid, Tid{tid}, 0, thread.thread_ns)) ended.push_back(*time);
  }
  return ended;
}

}  // namespace labelscope
