#include "bpf/sampling/thread_clocks.h"

#include <algorithm>

namespace labelscope {

void ThreadClocks::begin(Pid pid) {
  auto times = read_thread_times(pid);
  if (!times) {
    if (times.error().code != ErrorCode::kVanished) without_times_.insert(pid);
    return;
  }
  begin(*times);
}

void ThreadClocks::begin(std::span<const ThreadTime> times) {
  for (const ThreadTime& thread : times) before_[raw(thread.tid)] = thread.ran_ns;
}

std::uint64_t ThreadClocks::since_start(Pid pid, Tid tid, std::uint64_t thread_ns) {
  auto before = before_.find(raw(tid));
  if (before == before_.end()) {
    if (!without_times_.contains(pid))
      return thread_ns;  // the thread was created since sampling began
    before = before_.emplace(raw(tid), thread_ns).first;
  }
  // The time is less than at the beginning, so this is another thread, which has got the number
  // since.
  if (thread_ns < before->second) before->second = 0;
  return thread_ns - before->second;
}

EndedThread ThreadClocks::end(Pid pid, Tid tid, std::uint64_t thread_ns) {
  if (auto frozen = frozen_.extract(raw(tid))) {
    thread_ns = std::min(thread_ns, frozen.mapped().thread_ns);
  }
  const EndedThread ended{pid, tid, since_start(pid, tid, thread_ns)};
  before_.erase(raw(tid));
  return ended;
}

EndedThread ThreadClocks::rename(Pid pid, Tid former, std::uint64_t thread_ns) {
  const EndedThread ended = end(pid, former, thread_ns);
  before_[raw(pid)] = thread_ns;
  replaced_.insert(pid);
  return ended;
}

void ThreadClocks::freeze(Pid pid) {
  auto times = read_thread_times(pid);
  if (times) freeze(pid, *times);
}

void ThreadClocks::freeze(Pid pid, std::span<const ThreadTime> times) {
  for (const ThreadTime& thread : times) frozen_[raw(thread.tid)] = {pid, thread.ran_ns};
}

std::vector<EndedThread> ThreadClocks::take_frozen() {
  std::vector<EndedThread> ended;
  while (!frozen_.empty()) {
    const auto& [tid, thread] = *frozen_.begin();
    ended.push_back(end(thread.pid, Tid{tid}, thread.thread_ns));
  }
  return ended;
}

}  // namespace labelscope
