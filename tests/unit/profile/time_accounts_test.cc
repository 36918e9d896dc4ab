// TimeAccounts shares out what the kernel counted, to the nanosecond, and to the right owners.
#include "cli/profile/time_accounts.h"

#include <numeric>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kPeriod = 10 * kMs;
constexpr std::uint64_t kStretch = 80 * kMs;  // eight periods
constexpr Pid kPid{1};
constexpr Pid kOther{2};

// A profile with one row for each label, and accounts of it.
struct Bench {
  Profile profile;
  TimeAccounts accounts{profile, kPeriod};
  std::uint64_t now = 0;

  // Adds a row of this thread of the profile.
  Index row(Index thread = 0) {
    while (profile.threads.size() <= thread)
      profile.threads.push_back({kNoIndex, Tid{9}, "", kNoIndex});
    SampleRow row;
    row.thread = thread;
    row.count = 0;
    profile.rows.push_back(row);
    return static_cast<Index>(profile.rows.size() - 1);
  }
  // A sample that comes in its turn.
  void sample(int tid, std::uint64_t thread_ns, Index row, Pid pid = kPid) {
    late_sample(++now, tid, thread_ns, row, pid);
  }
  void late_sample(std::uint64_t time_ns, int tid, std::uint64_t thread_ns, Index row,
                   Pid pid = kPid) {
    ++profile.rows[row].count;
    accounts.add_sample({pid, 1}, Tid{tid}, time_ns, thread_ns, row);
  }
  TimeLedger cut(std::uint64_t lost_ns = 0, std::uint64_t whole_ns = 0) {
    const TimeLedger ledger = accounts.cut({.lost_ns = lost_ns, .whole_ns = whole_ns});
    std::uint64_t sum = 0;
    for (const SampleRow& row : profile.rows) sum += row.weight_ns;
    CHECK(sum == ledger.attributed_ns);
    return ledger;
  }
  std::uint64_t weight(Index row) const { return profile.rows[row].weight_ns; }
};

}  // namespace

TEST_CASE("time_accounts: a thread's time is shared equally within a stretch, and all of it") {
  Bench bench;
  const Index a = bench.row();
  const Index b = bench.row();
  // The label has 3 of 4 samples in the first stretch, and 1 of 2 in the rest.
  bench.sample(5, 10 * kMs, a);
  bench.sample(5, 20 * kMs, a);
  bench.sample(5, 30 * kMs, b);
  bench.sample(5, kStretch, a);
  bench.sample(5, kStretch + 10 * kMs, b);
  bench.sample(5, kStretch + 11 * kMs, a);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch + 20 * kMs);
  const TimeLedger ledger = bench.cut();
  CHECK(ledger.attributed_ns == kStretch + 20 * kMs);
  CHECK(ledger.unsampled_ns == 0);
  CHECK(bench.weight(a) == kStretch * 3 / 4 + 10 * kMs);
  CHECK(bench.weight(b) == kStretch / 4 + 10 * kMs);
}

TEST_CASE("time_accounts: time whose samples were lost goes to the samples next to it") {
  Bench bench;
  const Index before = bench.row();
  const Index after = bench.row();
  for (std::uint64_t i = 1; i <= 8; ++i) bench.sample(5, i * kPeriod, before);
  // There is a second without samples.
  bench.sample(5, kStretch + 1000 * kMs, after);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch + 1000 * kMs);
  bench.cut();
  CHECK(bench.weight(before) == kStretch);
  CHECK(bench.weight(after) == 1000 * kMs);
}

TEST_CASE("time_accounts: what a thread runs behind its last sample is its last samples'") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kStretch, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch + 3 * kMs);
  bench.cut();
  CHECK(bench.weight(row) == kStretch + 3 * kMs);
}

TEST_CASE("time_accounts: short threads stand for their like, sampled or not") {
  Bench bench;
  const Index long_lived = bench.row(0);
  const Index short_lived = bench.row(1);
  bench.sample(5, 500 * kMs, long_lived);
  // There are 500 threads of 1 ms; a sample in its middle meets every tenth.
  for (int i = 0; i < 500; ++i) {
    if (i % 10 == 0) bench.sample(100 + i, kMs / 2, short_lived);
    bench.accounts.end_thread({kPid, 1}, Tid{100 + i}, kMs);
  }
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 500 * kMs);
  const TimeLedger ledger = bench.cut();
  CHECK(ledger.attributed_ns == 1000 * kMs);
  CHECK(ledger.unsampled_ns == 0);
  CHECK(bench.weight(long_lived) == 500 * kMs);
  CHECK(bench.weight(short_lived) == 500 * kMs);
  CHECK(bench.profile.threads[0].account == 0);
  CHECK(bench.profile.threads[1].account == 1);
}

TEST_CASE("time_accounts: short processes stand for their like") {
  Bench bench;
  const Index row = bench.row();
  for (int i = 0; i < 100; ++i) {
    const Pid pid{1000 + i};
    if (i % 5 == 0) bench.sample(1000 + i, kMs, row, pid);
    bench.accounts.end_thread({pid, 1}, Tid{1000 + i}, 2 * kMs);
  }
  const TimeLedger ledger = bench.cut();
  CHECK(ledger.attributed_ns == 200 * kMs);
  CHECK(bench.weight(row) == 200 * kMs);
}

TEST_CASE("time_accounts: much time without a sample goes to no other process") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 2 * kMs);
  bench.accounts.end_thread({kOther, 1}, Tid{6}, 300 * kMs);
  const TimeLedger ledger = bench.cut(7 * kMs);
  CHECK(ledger.attributed_ns == 2 * kMs);
  CHECK(ledger.unsampled_ns == 300 * kMs);
  CHECK(ledger.lost_ns == 7 * kMs);
  CHECK(ledger.whole() == 309 * kMs);
}

TEST_CASE("time_accounts: what a process ran beyond its threads is its short threads'") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kMs);
  bench.accounts.set_process_time(kPid, 500 * kMs, 501 * kMs);
  const TimeLedger ledger = bench.cut();
  CHECK(ledger.attributed_ns == 500 * kMs);
  CHECK(ledger.missing_ns == 499 * kMs);
  CHECK(ledger.twice_ns == 0);
}

TEST_CASE("time_accounts: lost time of a process that can be asked is not counted twice") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kMs);
  bench.accounts.set_process_time(kPid, 500 * kMs, 500 * kMs);
  const TimeLedger ledger = bench.cut(600 * kMs, 550 * kMs);
  CHECK(ledger.attributed_ns == 500 * kMs);
  CHECK(ledger.lost_ns == 50 * kMs);
  CHECK(ledger.whole() == 550 * kMs);
}

TEST_CASE("time_accounts: processes without samples are in the sum of all") {
  Bench bench;
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 10 * kMs);
  const TimeLedger ledger = bench.cut(5 * kMs, 100 * kMs);
  CHECK(ledger.unsampled_ns == 95 * kMs);
  CHECK(ledger.lost_ns == 5 * kMs);
  // A sum that is less than what was seen is ignored.
  Bench other;
  other.accounts.end_thread({kPid, 1}, Tid{5}, 10 * kMs);
  CHECK(other.cut(0, 9 * kMs).whole() == 10 * kMs);
}

TEST_CASE("time_accounts: a thread that has the number of one that ended is another") {
  Bench bench;
  const Index first = bench.row();
  const Index second = bench.row();
  bench.sample(5, kStretch * 2, first);
  bench.sample(5, kStretch * 2 + kMs, first);
  // The report of the thread's end was lost.
  bench.sample(5, kStretch, second);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch);
  bench.cut();
  CHECK(bench.weight(first) == kStretch * 2 + kMs);
  CHECK(bench.weight(second) == kStretch);
}

TEST_CASE("time_accounts: a sample that waited for its labels takes no time back") {
  Bench bench;
  const Index row = bench.row();
  bench.late_sample(2, 5, 20 * kMs, row);
  bench.late_sample(1, 5, 10 * kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch);
  bench.cut();
  CHECK(bench.weight(row) == kStretch);
}

TEST_CASE("time_accounts: nor does it take a minute twice if it has waited for a minute") {
  Bench bench;
  const Index row = bench.row();
  const Index late = bench.row();
  for (std::uint64_t i = 1; i <= 6000; ++i) bench.late_sample(1000 + i, 5, i * kPeriod, row);
  bench.late_sample(500, 5, 5 * kMs, late);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 6000 * kPeriod + 4 * kMs);
  CHECK(bench.cut().attributed_ns == 6000 * kPeriod + 4 * kMs);
  CHECK(bench.weight(late) <= 4 * kMs + kStretch);
}

TEST_CASE("time_accounts: what threads have beyond other accounts was counted twice") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, 500 * kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 500 * kMs);
  bench.accounts.set_process_time(kPid, 290 * kMs, 300 * kMs);
  const bool by_processors = GENERATE(false, true);
  const TimeLedger ledger =
      bench.accounts.cut({.most_ns = by_processors ? 100 * kMs : 1000 * kMs});
  // The clock of a process may lack a tick of a thread that has ended.
  CHECK(ledger.twice_ns == (by_processors ? 400 * kMs : 190 * kMs));
  CHECK(ledger.missing_ns == 0);
  CHECK(ledger.whole() == 500 * kMs);
}

TEST_CASE("time_accounts: an end that was lost is the last sample, beside the process's clock") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, 300 * kMs, row);
  bench.accounts.set_process_time(kPid, 310 * kMs, 311 * kMs);
  const TimeLedger ledger = bench.cut();
  CHECK(ledger.attributed_ns == 300 * kMs);
  CHECK(ledger.unsampled_ns == 10 * kMs);
}

TEST_CASE("time_accounts: the time of strangers is not that of a few short processes") {
  // Two processes of 40 ms were sampled, and eight of half a second were not all followed.
  const bool strangers_are_known = GENERATE(false, true);
  Bench bench;
  const Index row = bench.row();
  for (const int pid : {11, 12}) {
    for (std::uint64_t i = 1; i <= 4; ++i) bench.sample(pid, i * kPeriod, row, Pid{pid});
    bench.accounts.end_thread({Pid{pid}, 1}, Tid{pid}, 4 * kPeriod);
  }
  const TimeLedger ledger =
      bench.accounts.cut({.whole_ns = 3080 * kMs, .has_strangers = strangers_are_known});
  CHECK(ledger.whole() == 3080 * kMs);
  CHECK(ledger.missing_ns == 3000 * kMs);
  // Eight samples may stand for twenty periods.
  CHECK(ledger.attributed_ns <= (strangers_are_known ? 80 : 200) * kMs);
}

TEST_CASE("time_accounts: where no clock moves, each sample stands for its period") {
  Bench bench;
  const Index a = bench.row();
  const Index b = bench.row();
  for (int i = 0; i < 3; ++i) bench.sample(5, 0, a);
  bench.sample(5, 0, b);
  CHECK(bench.cut().attributed_ns == 4 * kPeriod);
  CHECK(bench.weight(a) == 3 * kPeriod);
  CHECK(bench.weight(b) == kPeriod);
}

TEST_CASE("time_accounts: a part of a nanosecond is not lost") {
  Bench bench;
  std::vector<Index> rows;
  for (int i = 0; i < 3; ++i) rows.push_back(bench.row());
  for (Index row : rows) bench.sample(5, kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch + 2);
  bench.cut();
  CHECK(bench.weight(rows[0]) + bench.weight(rows[1]) + bench.weight(rows[2]) == kStretch + 2);
}

TEST_CASE("time_accounts: nor is it among the samples of a thread with an account") {
  Bench bench;
  const Index before = bench.row();
  std::vector<Index> rows;
  for (int i = 0; i < 3; ++i) rows.push_back(bench.row());
  bench.sample(5, kStretch, before);
  for (Index row : rows) bench.sample(5, kStretch + kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, kStretch + 3 * kMs + 2);
  bench.cut();
  CHECK(bench.weight(before) == kStretch);
  CHECK(bench.weight(rows[0]) + bench.weight(rows[1]) + bench.weight(rows[2]) == 3 * kMs + 2);
}

TEST_CASE("time_accounts: a thread that executes a program goes on, and no time is twice there") {
  Bench bench;
  const Index before = bench.row();
  const Index after = bench.row();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ++bench.now;
    bench.accounts.add_sample({kPid, 1}, Tid{5}, bench.now, i * kStretch, before);
  }
  for (std::uint64_t i = 4; i <= 5; ++i) {
    ++bench.now;
    bench.accounts.add_sample({kPid, 2}, Tid{5}, bench.now, i * kStretch, after);
  }
  bench.accounts.end_thread({kPid, 2}, Tid{5}, 5 * kStretch);
  bench.accounts.set_process_time(kPid, 5 * kStretch, 5 * kStretch);
  const TimeLedger ledger = bench.cut(0);
  CHECK(ledger.attributed_ns == 5 * kStretch);
  CHECK(ledger.twice_ns == 0);
  CHECK(bench.profile.rows[before].weight_ns == 3 * kStretch);
  CHECK(bench.profile.rows[after].weight_ns == 2 * kStretch);
}

TEST_CASE("time_accounts: the end of another process's thread of that number ends nothing") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kStretch, row);
  bench.accounts.end_thread({kOther, 1}, Tid{5}, kMs);
  bench.sample(5, 2 * kStretch, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 2 * kStretch);
  bench.cut(0, 2 * kStretch);
  CHECK(bench.weight(row) >= 2 * kStretch);
  CHECK(bench.weight(row) <= 2 * kStretch + kMs);
}

TEST_CASE("time_accounts: an end of which nothing is known is the last sample") {
  Bench bench;
  const Index row = bench.row();
  bench.sample(5, kStretch, row);
  bench.sample(5, kStretch + 5 * kMs, row);
  bench.accounts.end_thread({kPid, 1}, Tid{5}, 0);
  bench.cut();
  CHECK(bench.weight(row) == kStretch + 5 * kMs);
}
