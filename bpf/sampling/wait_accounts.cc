#include "bpf/sampling/wait_accounts.h"

#include <algorithm>
#include <utility>

namespace labelscope {

void WaitAccounts::begin(std::span<const ThreadTime> times, std::uint64_t now_ns) {
  for (const ThreadTime& thread : times) {
    if (!thread.is_worker) begun_[raw(thread.tid)] = {now_ns, thread.ran_ns};
  }
}

std::uint64_t WaitAccounts::waits_since(const ThreadTime& thread, std::uint64_t otherwise) const {
  const auto begun = begun_.find(raw(thread.tid));
  const bool rests = begun != begun_.end() && begun->second.ran_ns == thread.ran_ns;
  return rests ? begun->second.at_ns : otherwise;
}

// A thread that has run for less than that one at its beginning is another one, which has got its
// number since.
WaitAccounts::Begun WaitAccounts::begun(Tid tid, const ls_wait_account& account) const {
  const auto begun = begun_.find(raw(tid));
  const bool knows = account.begun_ns != 0;
  if (begun != begun_.end() && (!knows || account.begun_ran_ns >= begun->second.ran_ns))
    return begun->second;
  return {account.begun_ns, account.begun_ran_ns};
}

void WaitAccounts::add(ProcessKey process, const ThreadTime& thread, const Closed& closed,
                       std::uint64_t now_ns) {
  const Begun since = begun(thread.tid, closed.account);
  const std::uint64_t ended_ns = closed.ended_ns != 0 ? closed.ended_ns : now_ns;
  // A thread that the programs do not know yet, or had no room for, has no beginning.
  if (since.at_ns == 0 || ended_ns < since.at_ns || thread.ran_ns < since.ran_ns) return;
  ThreadLedger ledger;
  ledger.process = process;
  ledger.tid = thread.tid;
  ledger.wall_ns = ended_ns - since.at_ns;
  ledger.cpu_ns = thread.ran_ns - since.ran_ns;
  ledger.runnable_ns = closed.account.ns[LS_PART_RUNNABLE];
  ledger.waiting_ns = closed.account.ns[LS_PART_WAITING];
  ledger.blocked_ns = closed.account.ns[LS_PART_UNINTERRUPTIBLE];
  ledger.open_ns = closed.open_ns;
  ledger.waits = closed.account.waits;
  ledgers_.add(ledger);
}

void WaitAccounts::end(const ThreadWaitsRecord& record) {
  add(record.process, {record.tid, record.thread_ns},
      {record.account, 0, record.ended_ns, {}, 0, 0}, 0);
  forget(record.tid);
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
      closed.open_ns = closed.ended_ns - thread.left_ns;
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
