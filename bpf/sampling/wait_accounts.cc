#include "bpf/sampling/wait_accounts.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace labelscope {
namespace {

ls_wait_sums difference(const ls_wait_sums& more, const ls_wait_sums& less) {
  ls_wait_sums rest{};
  for (int part = 0; part < LS_WAIT_PARTS; ++part) {
    rest.ns[part] = more.ns[part] - std::min(more.ns[part], less.ns[part]);
  }
  rest.waits = more.waits - std::min(more.waits, less.waits);
  return rest;
}

void add_to(ls_wait_sums& sum, const ls_wait_sums& more) {
  for (int part = 0; part < LS_WAIT_PARTS; ++part) sum.ns[part] += more.ns[part];
  sum.waits += more.waits;
}

std::uint64_t time_in(const ls_wait_sums& sums) {
  return sums.ns[LS_PART_WAITING] + sums.ns[LS_PART_UNINTERRUPTIBLE] + sums.ns[LS_PART_RUNNABLE];
}

}  // namespace

void WaitAccounts::begin(std::span<const ThreadTime> times, std::uint64_t now_ns) {
  for (const ThreadTime& thread : times) {
    if (!thread.is_worker)
      begun_[raw(thread.tid)] = {.at_ns = now_ns, .ran_ns = thread.ran_ns};
  }
}

std::uint64_t WaitAccounts::waits_since(const ThreadTime& thread, std::uint64_t otherwise) const {
  const auto begun = begun_.find(raw(thread.tid));
  const bool rests = begun != begun_.end() && begun->second.ran_ns == thread.ran_ns;
  return rests ? begun->second.at_ns : otherwise;
}

void WaitAccounts::forget(Tid tid) {
  const auto begun = begun_.find(raw(tid));
  if (begun != begun_.end() && begun->second.entry_ns == 0) begun_.erase(begun);
}

// A thread that has run for less than that one at its beginning is another one, which has got its
// number since. So is one whose account began at another time.
WaitAccounts::Begun WaitAccounts::begun(Tid tid, const ls_wait_account& account) const {
  const auto found = begun_.find(raw(tid));
  const bool knows = account.begun_ns != 0;
  if (found != begun_.end()) {
    const Begun& begun = found->second;
    if (!knows || begun.entry_ns == account.begun_ns) return begun;
    if (begun.entry_ns == 0 && account.begun_ran_ns >= begun.ran_ns)
      return {.at_ns = begun.at_ns, .ran_ns = begun.ran_ns, .entry_ns = account.begun_ns};
  }
  return {.at_ns = account.begun_ns, .ran_ns = account.begun_ran_ns, .entry_ns = account.begun_ns};
}

// What no window has had.
ls_wait_sums WaitAccounts::rest_of(const Begun& since, const ls_wait_account& account) {
  ls_wait_sums rest{};
  for (std::size_t slot = 0; slot < LS_WINDOW_SLOTS; ++slot)
    add_to(rest, difference(account.in[slot], since.taken[slot]));
  return rest;
}

void WaitAccounts::add(ProcessKey process, Tid tid, const Begun& since, const End& end,
                       const ls_wait_sums& sums, ThreadLedgers& to) {
  // A thread that the programs do not know yet, or had no room for, has no beginning.
  if (since.at_ns == 0 || end.at_ns < since.at_ns || end.ran_ns < since.ran_ns) return;
  if (end.at_ns == since.at_ns && sums.waits == 0 && time_in(sums) == 0) return;
  ThreadLedger ledger;
  ledger.process = process;
  ledger.tid = tid;
  ledger.wall_ns = end.at_ns - since.at_ns;
  ledger.cpu_ns = end.ran_ns - since.ran_ns;
  ledger.runnable_ns = sums.ns[LS_PART_RUNNABLE];
  ledger.waiting_ns = sums.ns[LS_PART_WAITING];
  ledger.blocked_ns = sums.ns[LS_PART_UNINTERRUPTIBLE];
  ledger.open_ns = end.open_ns;
  ledger.waits = sums.waits;
  to.add(ledger);
}

void WaitAccounts::add(ProcessKey process, const ThreadTime& thread, const Closed& closed,
                       std::uint64_t now_ns) {
  const Begun since = begun(thread.tid, closed.account);
  End end{closed.ended_ns != 0 ? closed.ended_ns : now_ns, thread.ran_ns, 0};
  if (closed.left_ns != 0) end.open_ns = end.at_ns - std::max(closed.left_ns, since.at_ns);
  add(process, thread.tid, since, end, rest_of(since, closed.account), ledgers_);
}

void WaitAccounts::end(const ThreadWaitsRecord& record) {
  const Begun since = begun(record.tid, record.account);
  add(record.process, record.tid, since, {record.ended_ns, record.thread_ns, 0},
      rest_of(since, record.account), ledgers_);
  begun_.erase(raw(record.tid));
}

// A thread that waited at the cut had the CPU time that it had when it left its processor. One that
// is in no list of threads works in its end, or has another number, or has ended without a record:
// it counts up to its last switch, and the rest comes with its end. If that was behind the cut, the
// thread has run since for as long as it did not wait.
WaitAccounts::End WaitAccounts::end_at(const WaitCut& cut, const ThreadAtCut& thread,
                                       const Begun& since, const std::uint64_t* ran_ns) const {
  if (thread.open) {
    const std::uint64_t from = std::max(thread.open->left_ns, since.at_ns);
    return {cut.cut_ns, std::max(thread.open->left_ran_ns, since.ran_ns),
            cut.cut_ns - std::min(from, cut.cut_ns)};
  }
  if (ran_ns != nullptr) return {cut.cut_ns, std::max(*ran_ns, since.ran_ns), 0};
  const std::uint64_t ran = std::max(thread.left_ran_ns, since.ran_ns);
  if (thread.switched_ns <= cut.cut_ns) return {thread.switched_ns, ran, 0};
  const std::uint64_t time = thread.switched_ns - cut.cut_ns;
  const std::size_t next = cut.slot ^ 1;
  const ls_wait_sums behind = difference(thread.account.in[next], since.taken[next]);
  const std::uint64_t ran_behind = time - std::min(time, time_in(behind));
  return {cut.cut_ns, ran - std::min(ran - since.ran_ns, ran_behind), 0};
}

void WaitAccounts::cut_thread(const WaitCut& cut, const ThreadAtCut& thread,
                              const std::uint64_t* ran_ns, const HandOut& hand_out,
                              ThreadLedgers& window) {
  Begun since = begun(thread.tid, thread.account);
  End end = end_at(cut, thread, since, ran_ns);
  // It has begun behind the cut, a moment before the programs knew that.
  if (since.at_ns >= cut.cut_ns) end = {since.at_ns, since.ran_ns, 0};
  const ls_wait_sums sums = difference(thread.account.in[cut.slot], since.taken[cut.slot]);
  add(thread.process, thread.tid, since, end, sums, window);
  hand_out(thread,
           thread.open ? parts_of(*thread.open, since.at_ns, cut.cut_ns) : WaitParts{});
  since.at_ns = std::max(end.at_ns, since.at_ns);
  since.ran_ns = end.ran_ns;
  since.taken[cut.slot] = thread.account.in[cut.slot];
  begun_[raw(thread.tid)] = since;
}

// Where its CPU time at the cut is not known, it has run behind the cut for as long as it did not
// wait.
void WaitAccounts::cut_ended(const WaitCut& cut, const ThreadAtCut& thread,
                             const HandOut& hand_out, ThreadLedgers& window) {
  Begun since = begun(thread.tid, thread.account);
  End last{thread.ended_ns, thread.ended_ran_ns, 0};
  const WaitParts open =
      thread.open ? parts_of(*thread.open, since.at_ns, std::min(cut.cut_ns, thread.ended_ns))
                  : WaitParts{};
  // Also if it has begun behind the cut: what it has in this window may be late.
  hand_out(thread, open);
  const ls_wait_sums rest = rest_of(since, thread.account);
  const ls_wait_sums before = difference(thread.account.in[cut.slot], since.taken[cut.slot]);
  const ls_wait_sums behind = difference(rest, before);
  if (thread.ended_ns <= cut.cut_ns) {
    // A switch at that moment may have taken itself for one of the next window.
    last.open_ns = open[LS_PART_WAITING] + open[LS_PART_UNINTERRUPTIBLE] + open[LS_PART_RUNNABLE];
    add(thread.process, thread.tid, since, last, before, window);
    since.at_ns = last.at_ns;
    since.ran_ns = last.ran_ns;
    add(thread.process, thread.tid, since, {last.at_ns, last.ran_ns, 0}, behind, ledgers_);
  } else if (since.at_ns >= cut.cut_ns) {
    add(thread.process, thread.tid, since, {since.at_ns, since.ran_ns, 0}, before, window);
    add(thread.process, thread.tid, since, last, behind, ledgers_);
  } else {
    const std::uint64_t ran = thread.ended_ran_ns - std::min(thread.ended_ran_ns, since.ran_ns);
    const std::uint64_t time = thread.ended_ns - cut.cut_ns;
    const std::uint64_t ran_behind = std::min(ran, time - std::min(time, time_in(behind)));
    const std::uint64_t ran_ns = since.ran_ns + ran - ran_behind;
    const End end = end_at(cut, thread, since, &ran_ns);
    add(thread.process, thread.tid, since, end, before, window);
    since.at_ns = end.at_ns;
    since.ran_ns = end.ran_ns;
    add(thread.process, thread.tid, since, last, behind, ledgers_);
  }
  begun_.erase(raw(thread.tid));
}

ThreadLedgers WaitAccounts::cut(const WaitCut& cut, std::span<const ThreadAtCut> threads,
                                std::span<const ThreadAtCut> ended, const Times& times,
                                const std::function<ProcessKey(Pid)>& key_of,
                                const HandOut& hand_out) {
  ThreadLedgers window = std::exchange(ledgers_, {});
  std::unordered_map<std::int32_t, std::uint64_t> ran;
  for (const auto& [pid, all] : times) {
    for (const ThreadTime& thread : all) ran[raw(thread.tid)] = thread.ran_ns;
  }
  std::unordered_set<std::int32_t> known;
  for (const ThreadAtCut& thread : threads) {
    const auto its = ran.find(raw(thread.tid));
    cut_thread(cut, thread, its == ran.end() ? nullptr : &its->second, hand_out, window);
    known.insert(raw(thread.tid));
  }
  for (const ThreadAtCut& thread : ended) {
    // Another thread may have its number by now.
    if (const auto its = begun_.find(raw(thread.tid));
        its == begun_.end() || its->second.entry_ns == 0 ||
        its->second.entry_ns == thread.account.begun_ns) {
      known.insert(raw(thread.tid));
    }
    cut_ended(cut, thread, hand_out, window);
  }
  // Those that have not left a processor since they began.
  for (const auto& [pid, all] : times) {
    for (const ThreadTime& thread : all) {
      const auto its = begun_.find(raw(thread.tid));
      if (thread.is_worker || its == begun_.end() || !known.insert(raw(thread.tid)).second) continue;
      Begun& since = its->second;
      const End end{cut.cut_ns, std::max(thread.ran_ns, since.ran_ns), 0};
      if (since.at_ns >= cut.cut_ns) continue;
      add(key_of(pid), thread.tid, since, end, {}, window);
      since.at_ns = end.at_ns;
      since.ran_ns = end.ran_ns;
    }
  }
  std::erase_if(begun_, [&](const auto& entry) {
    return !known.contains(entry.first) && !ran.contains(entry.first);
  });
  window.cut();
  return window;
}

// A thread may have left its processor after `closed_ns`, while the programs were detached.
void WaitAccounts::close(std::span<const std::pair<Tid, ls_off_cpu>> threads,
                         std::uint64_t closed_ns) {
  for (const auto& [tid, thread] : threads) {
    if (thread.exits == LS_EXITS_SETTLED) continue;
    Closed closed;
    closed.account = thread.account;
    closed.process = {Pid{static_cast<std::int32_t>(thread.pid)}, thread.life};
    closed.switched_ns = thread.came_ns;
    closed.switched_ran_ns = thread.left_ran_ns;
    if (thread.left_ns != 0) {
      closed.ended_ns = std::max<std::uint64_t>(thread.left_ns, closed_ns);
      closed.left_ns = thread.left_ns;
    }
    closed_[raw(tid)] = closed;
  }
}

void WaitAccounts::freeze(ProcessKey process, std::span<const ThreadTime> times,
                          std::uint64_t now_ns) {
  for (const ThreadTime& thread : times) {
    if (thread.is_worker) continue;
    const auto closed = closed_.find(raw(thread.tid));
    add(process, thread, closed == closed_.end() ? Closed() : closed->second, now_ns);
    if (closed != closed_.end()) closed_.erase(closed);
  }
}

// What is left of closed_ are threads that have ended meanwhile, or have another number. They count
// up to their last switch.
ThreadLedgers WaitAccounts::take() {
  for (const auto& [tid, closed] : closed_) {
    add(closed.process, {Tid{tid}, closed.switched_ran_ns}, closed, closed.switched_ns);
  }
  closed_.clear();
  ledgers_.cut();
  return std::move(ledgers_);
}

}  // namespace labelscope
