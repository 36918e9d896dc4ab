#include "bpf/sampling/wait_cut.h"

#include <algorithm>

namespace labelscope {
namespace {

// A thread may begin between the cut and the moment at which user space has written it, and wait
// before that.
bool is_of_window(const WaitCut& cut, const ls_wait_account& account) {
  return account.begun_ns != 0 &&
         (account.begun_ns < cut.cut_ns || account.in[cut.slot].waits != 0);
}

// What of late waits is of the window that ends. Those before were handed out with theirs.
ls_late_waits late_of(const WaitCut& cut, const ls_late_waits& late) {
  return late.cut_ns == cut.began_ns ? late : ls_late_waits{};
}

std::optional<OpenWait> left_behind(const WaitCut& cut, const ls_divided_wait& divided) {
  if (divided.cut_ns != cut.cut_ns) return std::nullopt;
  return open_wait(divided);
}

// Returns the wait that was open at the cut. What the entry had at first is right if the thread was
// in that wait still at the second time; otherwise it has come back in between, or was about to.
std::optional<OpenWait> open_at(const WaitCut& cut, const ls_off_cpu& first,
                                const ls_off_cpu& second) {
  const bool was_open = first.left_ns != 0 && first.left_ns < cut.cut_ns;
  if (was_open && second.left_ns == first.left_ns) return open_wait(first);
  return left_behind(cut, second.divided);
}

}  // namespace

OpenWait open_wait(const ls_off_cpu& thread) {
  return {thread.left_ns, thread.woken_ns,    thread.left_ran_ns, thread.labels,
          thread.life,    thread.system_call, thread.part};
}

OpenWait open_wait(const ls_divided_wait& divided) {
  return {divided.left_ns, divided.woken_ns,    divided.left_ran_ns, divided.labels,
          divided.life,    divided.system_call, divided.part};
}

WaitParts parts_of(const OpenWait& wait, std::uint64_t from_ns, std::uint64_t until_ns) {
  WaitParts parts{};
  const std::uint64_t from = std::max(wait.left_ns, from_ns);
  if (until_ns <= from) return parts;
  // It may have been woken behind the end.
  const std::uint64_t woken =
      wait.woken_ns >= wait.left_ns ? std::min(wait.woken_ns, until_ns) : until_ns;
  if (woken > from && wait.part < LS_WAIT_PARTS) parts[wait.part] = woken - from;
  parts[LS_PART_RUNNABLE] += until_ns - std::max(woken, from);
  return parts;
}

std::vector<ThreadAtCut> threads_at(const WaitCut& cut, const WaitingEntries& first,
                                    const WaitingEntries& second) {
  std::unordered_map<std::int32_t, const ls_off_cpu*> again;
  for (const auto& [tid, entry] : second) again.emplace(raw(tid), &entry);
  std::vector<ThreadAtCut> threads;
  for (const auto& [tid, entry] : first) {
    const auto found = again.find(raw(tid));
    const std::uint64_t begun_ns = entry.account.begun_ns;
    if (entry.exits == LS_EXITS_SETTLED || !is_of_window(cut, entry.account)) continue;
    if (found == again.end() || found->second->account.begun_ns != begun_ns) continue;
    const ls_off_cpu& now = *found->second;
    if (now.exits == LS_EXITS_SETTLED) continue;
    ThreadAtCut thread;
    thread.tid = tid;
    thread.process = {static_cast<Pid>(now.pid), now.life};
    thread.account = now.account;
    thread.open = open_at(cut, entry, now);
    thread.late = late_of(cut, now.late[cut.slot]);
    thread.switched_ns = now.left_ns != 0 ? now.left_ns : now.came_ns;
    thread.left_ran_ns = now.left_ran_ns;
    threads.push_back(thread);
    again.erase(found);  // it may have been read twice
  }
  return threads;
}

ThreadAtCut thread_at(const WaitCut& cut, const ThreadWaitsRecord& record) {
  ThreadAtCut thread;
  thread.tid = record.tid;
  thread.process = record.process;
  thread.account = record.account;
  thread.open = left_behind(cut, record.divided);
  thread.late = late_of(cut, record.late);
  thread.ended_ns = record.ended_ns;
  thread.ended_ran_ns = record.thread_ns;
  return thread;
}

}  // namespace labelscope
