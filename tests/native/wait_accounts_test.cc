// bpf/sampling/wait_accounts.cc: how the time of a thread divides, whenever it begins and ends.
#include "bpf/sampling/wait_accounts.h"

#include <cstdint>
#include <span>
#include <vector>

#include "support/catch.h"

using namespace labelscope;

namespace {

constexpr Pid kPid{70};
constexpr Tid kTid{71};
constexpr std::uint64_t kStart = 1000;

ls_wait_account account(std::uint64_t begun_ns, std::uint64_t begun_ran_ns) {
  return {begun_ns, begun_ran_ns, {{{20, 3, 7}, 4}, {}}};
}

// Returns a thread that was first seen at `begun_ns` and is on a processor.
ls_off_cpu thread_from(std::uint64_t begun_ns, std::uint64_t begun_ran_ns) {
  ls_off_cpu thread{};
  thread.account = account(begun_ns, begun_ran_ns);
  return thread;
}

// Returns accounts of a recording that begins when the thread has run for 500 ns.
WaitAccounts begun() {
  WaitAccounts accounts;
  const ThreadTime before[] = {{kTid, 500}};
  accounts.begin(before, kStart);
  return accounts;
}

// Ends the recording at 2000, and looks at the threads at 2010.
ThreadLedger closed(WaitAccounts& accounts, const ls_off_cpu& thread, std::uint64_t ran_ns) {
  const std::pair<Tid, ls_off_cpu> known[] = {{kTid, thread}};
  accounts.close(known, 2000);
  const ThreadTime times[] = {{kTid, ran_ns}};
  accounts.freeze({kPid, 3}, times, 2010);
  const ThreadLedgers ledgers = accounts.take();
  REQUIRE(ledgers.threads().size() == 1);
  return ledgers.threads().front();
}

}  // namespace

TEST_CASE("a thread that is there at the beginning counts from then on, whenever it first waits") {
  WaitAccounts accounts = begun();
  const ThreadLedger ledger = closed(accounts, thread_from(1300, 800), 1480);
  CHECK(ledger.wall_ns == 1010);  // it was running at the end
  CHECK(ledger.cpu_ns == 980);
  CHECK(ledger.waiting_ns == 20);
  CHECK(ledger.blocked_ns == 3);
  CHECK(ledger.runnable_ns == 7);
  CHECK(ledger.open_ns == 0);
  CHECK(ledger.waits == 4);
  CHECK(ledger.residue_ns() == 0);
}

TEST_CASE("a thread of io_uring has no account") {
  WaitAccounts accounts;
  const ThreadTime times[] = {{kTid, 500, 0, 0, true}};
  accounts.begin(times, kStart);
  accounts.close({}, 2000);
  accounts.freeze({kPid, 3}, times, 2010);
  CHECK(accounts.take().threads().empty());
}

TEST_CASE("a wait that has not ended is open, and ends with the recording") {
  WaitAccounts accounts;
  ls_off_cpu thread = thread_from(kStart, 0);
  thread.left_ns = 1400;
  const ThreadLedger ledger = closed(accounts, thread, 360);
  CHECK(ledger.wall_ns == 1000);
  CHECK(ledger.open_ns == 600);
  CHECK(ledger.residue_ns() == 10);
}

TEST_CASE("a thread that leaves its processor after the end has no open wait") {
  WaitAccounts accounts;
  ls_off_cpu thread = thread_from(kStart, 0);
  thread.left_ns = 2005;
  const ThreadLedger ledger = closed(accounts, thread, 975);
  CHECK(ledger.wall_ns == 1005);
  CHECK(ledger.open_ns == 0);
  CHECK(ledger.residue_ns() == 0);
}

TEST_CASE("accounts may have the same time twice, which is a negative residue") {
  WaitAccounts accounts;
  CHECK(closed(accounts, thread_from(kStart, 0), 1000).residue_ns() == -20);
}

TEST_CASE("a thread that ends has its account from the beginning, and its number is free") {
  WaitAccounts accounts = begun();
  accounts.end({{kPid, 3}, kTid, account(1300, 800), {}, {}, 1500, 970});
  // Another thread gets the number.
  accounts.end({{kPid, 4}, kTid, account(1600, 0), {}, {}, 1700, 60});
  const ThreadLedgers ledgers = accounts.take();
  REQUIRE(ledgers.count() == 2);
  CHECK(ledgers.threads()[0].process == ProcessKey{kPid, 3});
  CHECK(ledgers.threads()[0].wall_ns == 500);
  CHECK(ledgers.threads()[0].cpu_ns == 470);
  CHECK(ledgers.threads()[1].process == ProcessKey{kPid, 4});
  CHECK(ledgers.threads()[1].wall_ns == 100);
  CHECK(ledgers.threads()[1].residue_ns() == 10);
}

TEST_CASE("a thread that has run for less than another one before has only got its number") {
  WaitAccounts accounts = begun();
  accounts.end({{kPid, 3}, kTid, account(1600, 0), {}, {}, 1700, 600});
  const ThreadLedgers ledgers = accounts.take();
  REQUIRE(ledgers.count() == 1);
  CHECK(ledgers.threads()[0].wall_ns == 100);
  CHECK(ledgers.threads()[0].cpu_ns == 600);
}

TEST_CASE("a thread that has not run since the beginning has waited since then") {
  WaitAccounts accounts = begun();
  CHECK(accounts.waits_since({kTid, 500}, 1200) == kStart);
  CHECK(accounts.waits_since({kTid, 501}, 1200) == 1200);
  CHECK(accounts.waits_since({Tid{72}, 500}, 1200) == 1200);
}

TEST_CASE("a thread that never leaves its processor needs no entry") {
  WaitAccounts accounts = begun();
  const ThreadTime after[] = {{kTid, 1500}, {Tid{72}, 90}};  // nothing is known of the second
  accounts.close({}, 2000);
  accounts.freeze({kPid, 3}, after, 2000);
  const ThreadLedgers ledgers = accounts.take();
  REQUIRE(ledgers.count() == 1);
  CHECK(ledgers.threads()[0].cpu_ns == 1000);
  CHECK(ledgers.threads()[0].residue_ns() == 0);
}

TEST_CASE("a thread that ends while the recording does counts up to its last switch") {
  WaitAccounts accounts;
  ls_off_cpu running = thread_from(kStart, 0);
  running.pid = 70;
  running.life = 4;
  running.came_ns = 1900;
  running.left_ran_ns = 860;
  ls_off_cpu waiting = running;
  waiting.left_ns = 1950;
  waiting.left_ran_ns = 910;
  const std::pair<Tid, ls_off_cpu> known[] = {{kTid, running}, {Tid{72}, waiting}};
  accounts.close(known, 2000);
  accounts.freeze({kPid, 3}, {}, 2010);
  const ThreadLedgers ledgers = accounts.take();
  REQUIRE(ledgers.threads().size() == 2);
  const bool first_runs = ledgers.threads()[0].tid == kTid;
  const ThreadLedger& ran = ledgers.threads()[first_runs ? 0 : 1];
  const ThreadLedger& waited = ledgers.threads()[first_runs ? 1 : 0];
  CHECK(ran.process == ProcessKey{kPid, 4});
  CHECK(ran.wall_ns == 900);
  CHECK(ran.residue_ns() == 10);
  CHECK(waited.wall_ns == 1000);
  CHECK(waited.open_ns == 50);
  CHECK(waited.residue_ns() == 10);
}

namespace {

constexpr WaitCut kCut{0, 2000, 0};

ThreadAtCut thread_at_cut(const ls_wait_account& account) {
  ThreadAtCut thread;
  thread.tid = kTid;
  thread.process = {kPid, 3};
  thread.account = account;
  return thread;
}

// The ledgers of the window that ends at 2000. What was open is added up.
ThreadLedgers cut(WaitAccounts& accounts, const std::vector<ThreadAtCut>& threads,
                  const std::vector<ThreadAtCut>& ended, const WaitAccounts::Times& times,
                  std::uint64_t* open_ns = nullptr) {
  return accounts.cut(
      kCut, threads, ended, times, [](Pid pid) { return ProcessKey{pid, 3}; },
      [&](const ThreadAtCut&, const WaitParts& parts) {
        if (open_ns != nullptr) *open_ns += parts[0] + parts[1] + parts[2];
      });
}

}  // namespace

TEST_CASE("a thread goes from one window to the next") {
  WaitAccounts accounts = begun();
  const WaitAccounts::Times times{{kPid, {{kTid, 1470}}}};
  const ThreadLedgers first =
      cut(accounts, {thread_at_cut(account(1300, 800))}, {}, times);
  REQUIRE(first.threads().size() == 1);
  CHECK(first.threads()[0].wall_ns == 1000);
  CHECK(first.threads()[0].cpu_ns == 970);
  CHECK(first.threads()[0].waits == 4);
  CHECK(first.threads()[0].residue_ns() == 0);
  accounts.end({{kPid, 3}, kTid, {1300, 800, {{{20, 3, 7}, 4}, {{1, 0, 9}, 2}}}, {}, {}, 2100, 1560});
  const ThreadLedgers last = accounts.take();
  REQUIRE(last.threads().size() == 1);
  CHECK(last.threads()[0].wall_ns == 100);
  CHECK(last.threads()[0].cpu_ns == 90);
  CHECK(last.threads()[0].waits == 2);
  CHECK(last.threads()[0].residue_ns() == 0);
  CHECK(accounts.size() == 0);
}

TEST_CASE("a thread that has ended since the cut is divided there") {
  WaitAccounts accounts = begun();
  ThreadAtCut ended = thread_at_cut({1300, 800, {{{20, 3, 7}, 4}, {{30, 0, 0}, 1}}});
  ended.ended_ns = 2100;
  ended.ended_ran_ns = 1400;
  SECTION("it was running at the cut") {
    ended.ended_ran_ns = 1540;
    const ThreadLedgers first = cut(accounts, {}, {ended}, {});
    REQUIRE(first.threads().size() == 1);
    CHECK(first.threads()[0].wall_ns == 1000);
    CHECK(first.threads()[0].residue_ns() == 0);
  }
  SECTION("it was waiting") {
    ended.open = OpenWait{};
    ended.open->left_ns = 1900;
    ended.open->left_ran_ns = 1370;
    std::uint64_t open_ns = 0;
    const ThreadLedgers first = cut(accounts, {}, {ended}, {}, &open_ns);
    REQUIRE(first.threads().size() == 1);
    CHECK(open_ns == 100);
    CHECK(first.threads()[0].open_ns == 100);
    CHECK(first.threads()[0].cpu_ns == 870);
    CHECK(first.threads()[0].residue_ns() == 0);
  }
  const ThreadLedgers last = accounts.take();
  REQUIRE(last.threads().size() == 1);
  CHECK(last.threads()[0].wall_ns == 100);
  CHECK(last.threads()[0].waiting_ns == 30);
  CHECK(accounts.size() == 0);
}

TEST_CASE("a thread that began before the programs knew of the cut has its waits with their totals") {
  WaitAccounts accounts;
  const ls_wait_account early{2001, 5, {{{0, 0, 7}, 1}, {}}};
  const ThreadLedgers first = cut(accounts, {thread_at_cut(early)}, {}, {});
  REQUIRE(first.threads().size() == 1);
  CHECK(first.threads()[0].runnable_ns == 7);
  CHECK(first.threads()[0].wall_ns == 0);
  accounts.end({{kPid, 3}, kTid, {2001, 5, {{{0, 0, 7}, 1}, {{3, 0, 0}, 1}}}, {}, {}, 2020, 14});
  const ThreadLedgers last = accounts.take();
  REQUIRE(last.threads().size() == 1);
  CHECK(last.threads()[0].wall_ns == 19);
  CHECK(last.threads()[0].runnable_ns == 0);
  CHECK(last.threads()[0].waiting_ns == 3);
}

TEST_CASE("whenever a thread has begun that has ended, what is late of its window is handed out") {
  for (const std::uint64_t begun_ns : {1800, 2001}) {
    for (const std::uint64_t ended_ns : {1990, 2020}) {
      if (ended_ns < begun_ns) continue;
      INFO("begun at " << begun_ns << ", ended at " << ended_ns);
      WaitAccounts accounts;
      ThreadAtCut ended = thread_at_cut({begun_ns, 5, {{{0, 0, 7}, 1}, {}}});
      ended.late.ns[LS_PART_RUNNABLE] = 7;
      ended.ended_ns = ended_ns;
      ended.ended_ran_ns = 14;
      std::uint64_t late_ns = 0;
      accounts.cut(
          kCut, {}, std::span(&ended, 1), {}, [](Pid pid) { return ProcessKey{pid, 3}; },
          [&](const ThreadAtCut& thread, const WaitParts&) {
            late_ns += thread.late.ns[LS_PART_RUNNABLE];
          });
      CHECK(late_ns == 7);
    }
  }
}

TEST_CASE("a thread that is in no list counts up to its last switch, and is forgotten") {
  WaitAccounts accounts = begun();
  ThreadAtCut gone = thread_at_cut(account(1300, 800));
  gone.switched_ns = 1700;
  gone.left_ran_ns = 1170;
  const ThreadLedgers first = cut(accounts, {gone}, {}, {});
  REQUIRE(first.threads().size() == 1);
  CHECK(first.threads()[0].wall_ns == 700);
  CHECK(first.threads()[0].residue_ns() == 0);
  CHECK(accounts.size() == 1);
  CHECK(cut(accounts, {}, {}, {}).threads().empty());
  CHECK(accounts.size() == 0);
}

TEST_CASE("of very many threads the longest have lines, and the sum has all") {
  ThreadLedgers ledgers;
  constexpr std::uint64_t kThreads = 100'000;
  for (std::uint64_t i = 1; i <= kThreads; ++i) {
    ThreadLedger thread;
    thread.wall_ns = i * 7919 % kThreads;  // each length once
    ledgers.add(thread);
    REQUIRE(ledgers.threads().size() < 2 * ThreadLedgers::kMostThreads);
  }
  ledgers.cut();
  CHECK(ledgers.threads().size() == ThreadLedgers::kMostThreads);
  CHECK(ledgers.count() == kThreads);
  CHECK(ledgers.sum().wall_ns == kThreads * (kThreads - 1) / 2);
  for (const ThreadLedger& thread : ledgers.threads())
    REQUIRE(thread.wall_ns >= kThreads - ThreadLedgers::kMostThreads);
}

TEST_CASE("the worst threads have the largest residues, of either sign") {
  ThreadLedgers ledgers;
  for (const std::uint64_t cpu : {100U, 150U, 20U, 95U}) {
    ThreadLedger thread;
    thread.wall_ns = 100;
    thread.cpu_ns = cpu;
    ledgers.add(thread);
  }
  const auto worst = ledgers.worst(2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0].residue_ns() == 80);
  CHECK(worst[1].residue_ns() == -50);
}
