// The accounts of waits against each other: what is said of each way in which they can differ.
#include "cli/record/wait_differences.h"

#include <map>

#include "cli/format/common/ledger_text.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A process of one thread, which exists for 10 s: 1 s on a processor, 2 s runnable, 7 s waiting.
struct Recorded {
  Recorded() {
    profile.backend = "bpf";
    profile.values = {value_of_kind(LS_WAITING), value_of_kind(LS_RUNNABLE)};
    profile.processes.push_back({Pid{5}, {}, {}, {}, {}});
    profile.threads.push_back({0, Tid{5}, "worker", kNoIndex});
    for (const auto& [value, ms] : {std::pair{0, 7000}, {1, 2000}}) {
      SampleRow row;
      row.thread = 0;
      row.value = static_cast<std::uint8_t>(value);
      row.weight_ns = static_cast<std::uint64_t>(ms) * kMs;
      profile.rows.push_back(row);
    }
    thread.process.pid = Pid{5};
    thread.tid = Tid{5};
    thread.wall_ns = 10'000 * kMs;
    thread.cpu_ns = 1000 * kMs;
    thread.runnable_ns = 2000 * kMs;
    thread.waiting_ns = 7000 * kMs;
    thread.waits = 1000;
  }
  // By schedstat it had waited for a processor for 3 s when the recording began, and this much at
  // its end.
  TimeLedger differences(std::uint64_t queued_ms = 5000, std::uint64_t stolen_ms = 0) {
    profile.thread_ledgers.add(thread);
    std::uint64_t now = 3000 * kMs;
    QueueClocks clocks([&](Pid pid) {
      return pid == Pid{5} ? std::vector<ThreadTime>{{Tid{5}, 0, 0, now}}
                           : std::vector<ThreadTime>();
    });
    clocks.expect(Pid{5});
    clocks.begin();
    now = queued_ms * kMs;
    clocks.expect_stop();
    clocks.stop();
    note_wait_differences(profile, clocks, stolen_ms * kMs);
    return profile.ledger.time;
  }
  Profile profile;
  ThreadLedger thread;
};

}  // namespace

TEST_CASE("wait differences: accounts that agree say nothing") {
  Recorded all;
  all.thread.waiting_ns -= 5 * kMs;
  const TimeLedger time = all.differences(5010);
  CHECK(time.waits_twice_ns == 0);
  CHECK(time.waits_missing_ns == 0);
  CHECK(account_problems(all.profile).empty());
}

TEST_CASE("wait differences: rows against the threads") {
  Recorded all;
  all.profile.rows[0].weight_ns += 700 * kMs;
  CHECK(all.differences().waits_twice_ns == 700 * kMs);
  CHECK(account_problems(all.profile).size() == 1);
  CHECK(time_line(all.profile).ends_with("; waits counted twice: 700 ms"));
  // Some threads have no line.
  for (const Counter counter : {Counter::kDroppedThreadWaits, Counter::kWaitsWithoutRoom}) {
    Recorded without;
    without.profile.rows[0].weight_ns += 700 * kMs;
    without.profile.ledger.counters[counter] = 1;
    CHECK(without.differences().waits_twice_ns == 0);
  }
  Recorded less;
  less.profile.rows[0].weight_ns -= 700 * kMs;
  CHECK(less.differences().waits_missing_ns == 700 * kMs);
  CHECK(account_problems(less.profile).size() == 1);
  // Time of a kind without any sample is in the ledger.
  Recorded unsampled;
  unsampled.profile.rows[0].weight_ns -= 700 * kMs;
  unsampled.profile.ledger.time.unsampled_waits_ns = 700 * kMs;
  CHECK(unsampled.differences().waits_missing_ns == 0);
}

TEST_CASE("wait differences: threads against the clock") {
  Recorded all;
  all.thread.wall_ns += 1500 * kMs;
  CHECK(all.differences().waits_missing_ns == 1500 * kMs);
  Recorded twice;
  twice.thread.wall_ns -= 1500 * kMs;
  CHECK(twice.differences().waits_twice_ns == 1500 * kMs);
  // The machine did not run meanwhile.
  Recorded stolen;
  stolen.thread.wall_ns += 1500 * kMs;
  CHECK(stolen.differences(5000, 1500).waits_missing_ns == 0);
}

TEST_CASE("wait differences: threads against schedstat") {
  // But for the wait in which a thread was when the recording began: 100 ms, and 10 usual ones.
  Recorded all;
  CHECK(all.differences(5900).waits_missing_ns == 780 * kMs);
  Recorded first;
  CHECK(first.differences(5115).waits_missing_ns == 0);
  Recorded twice;
  CHECK(twice.differences(4100).waits_twice_ns == 900 * kMs);
}

TEST_CASE("wait differences: a thread of another number, or one that ends, is not compared") {
  std::map<std::int32_t, std::uint64_t> threads{{1, 10}, {2, 20}, {3, 30}};
  QueueClocks clocks([&](Pid) {
    std::vector<ThreadTime> times;
    for (const auto& [tid, waited] : threads) times.push_back({Tid{tid}, 0, 0, waited});
    return times;
  });
  clocks.expect(Pid{9});
  threads[3] = 31;
  clocks.begin();
  threads.erase(1);
  threads[2] = 5;
  threads[3] = 40;
  clocks.expect_stop();
  threads[1] = 90;
  threads[3] = 42;
  clocks.stop();
  REQUIRE(clocks.bounds().size() == 1);
  CHECK(clocks.bounds().begin()->first == QueueClocks::Thread(9, 3));
  CHECK(clocks.bounds().begin()->second.least_ns == 9);
  CHECK(clocks.bounds().begin()->second.most_ns == 12);
}

TEST_CASE("wait differences: of very many threads some are asked") {
  int asked = 0;
  QueueClocks clocks([&](Pid) {
    ++asked;
    std::vector<ThreadTime> times;
    for (int tid = 1; tid <= 1000; ++tid) times.push_back({Tid{tid}, 0, 0, 1});
    return times;
  });
  for (int pid = 1; pid <= 1000; ++pid) clocks.expect(Pid{pid});
  clocks.begin();
  clocks.expect_stop();
  clocks.stop();
  CHECK(clocks.bounds().size() == QueueClocks::kMostThreads);
  CHECK(asked == 2 + 3 * 2);
}
