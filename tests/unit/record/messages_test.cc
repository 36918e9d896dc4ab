// The ledger's line, and the problems that are reported.
#include "cli/record/messages.h"

#include "cli/format/common/ledger_text.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

Ledger balanced() {
  Ledger ledger;
  ledger.taken = 1110;
  ledger.outcomes[LS_LABELLED] = 1000;
  ledger.outcomes[LS_UNLABELLED] = 100;
  ledger.outcomes[LS_UNREADABLE_NOT_RESIDENT] = 10;
  ledger.dropped = 10;
  ledger.written = 1100;
  return ledger;
}

}  // namespace

TEST_CASE("messages: the ledger's line holds every number") {
  Profile profile;
  profile.ledger = balanced();
  profile.backend = "bpf";  // files of other tools have nothing that was written or dropped
  profile.event = "cpu-clock";
  std::string line = ledger_line(profile);
  for (const char* part : {"1,110 samples", "cpu-clock", "1,000 labelled", "100 unlabelled",
                           "10 unreadable", "not in memory", "1,100 written", "10 dropped"}) {
    INFO(part);
    CHECK(line.find(part) != std::string::npos);
  }
}

TEST_CASE("messages: one sample is one") {
  Profile profile;
  profile.event = "cycles";
  profile.ledger.taken = profile.ledger.outcomes[LS_UNLABELLED] = profile.ledger.written = 1;
  CHECK(ledger_line(profile).starts_with("1 sample by cycles = "));
}

TEST_CASE("messages: a ledger that does not add up is said to be a defect") {
  Ledger ledger = balanced();
  CHECK(adds_up(ledger));
  ledger.outcomes[LS_UNLABELLED] += 1;
  CHECK(!adds_up(ledger));
  Profile profile;
  profile.ledger = ledger;
  REQUIRE(account_problems(profile).size() == 1);
  CHECK(account_problems(profile)[0].find("does not add up") != std::string::npos);
  ledger = balanced();
  ledger.written -= 1;
  CHECK(!adds_up(ledger));
}

TEST_CASE("messages: accounts that differ by more than ticks explain are a problem") {
  constexpr std::uint64_t kMs = 1'000'000;
  Profile profile;
  profile.backend = "bpf";
  profile.threads.resize(1);
  profile.ledger.time.attributed_ns = 10'000 * kMs;
  profile.rows.resize(1);
  profile.rows[0].weight_ns = 10'000 * kMs;
  profile.ledger.taken = profile.ledger.written = profile.ledger.outcomes[LS_UNLABELLED] = 1;
  profile.ledger.time.twice_ns = profile.ledger.time.missing_ns = 100 * kMs;  // one percent
  CHECK(account_problems(profile).empty());
  CHECK(time_line(profile).find("twice") == std::string::npos);
  profile.ledger.time.twice_ns = 1400 * kMs;
  REQUIRE(account_problems(profile).size() == 1);
  CHECK(account_problems(profile)[0].starts_with("counted twice: 1.40 s of CPU time"));
  CHECK(time_line(profile).ends_with("; counted twice: 1.40 s"));
  profile.ledger.time.missing_ns = 3000 * kMs;
  CHECK(account_problems(profile).size() == 2);
  CHECK(time_line(profile).ends_with("; in no thread's account: 3.00 s"));
  // Ptrace sees no thread between two looks.
  profile.backend = "ptrace";
  CHECK(account_problems(profile).size() == 1);
}

TEST_CASE("messages: what is ordinary is no warning, what is not is a sentence") {
  Ledger ledger = balanced();
  ledger.dropped = 0;
  ledger.written = ledger.taken;
  ledger.counters[Counter::kOfOtherProcesses] = 5000;
  ledger.counters[Counter::kLabelsLeftOut] = 23;  // information, since the user chose the option
  ledger.counters[Counter::kLabelsHashed] = 23;
  CHECK(ledger_problems(ledger).empty());
  ledger.counters[Counter::kThrottled] = 3;
  std::vector<std::string> lines = ledger_problems(ledger);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("lower -F") != std::string::npos);
}

TEST_CASE("messages: 100% and 0% are said only when they are exact") {
  CHECK(percent(0, 0) == "0%");
  CHECK(percent(0, 10) == "0%");
  CHECK(percent(10, 10) == "100%");
  CHECK(percent(99'999, 100'000) == "99.9%");
  CHECK(percent(1, 100'000) == "0.1%");
  CHECK(percent(1, 3) == "33.3%");
  CHECK(percent(2, 3) == "66.7%");  // as the tables print it
}

TEST_CASE("messages: thousands are set apart") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1234567) == "1,234,567");
}

TEST_CASE("messages: a larger --max-processes is only said to help where it does") {
  const auto said = [](Counter counter) {
    Ledger ledger = balanced();
    ledger.dropped = 0;
    ledger.written = ledger.taken;
    ledger.counters[counter] = 3;
    const std::vector<std::string> lines = ledger_problems(ledger);
    REQUIRE(lines.size() == 1);
    return lines[0];
  };
  CHECK(said(Counter::kChildrenNotFollowed).find("--max-processes") != std::string::npos);
  CHECK(said(Counter::kChildrenRefused).find("--max-processes") == std::string::npos);
  CHECK(said(Counter::kChildrenWithoutFiles).find("ulimit -n") != std::string::npos);
  // The cause need not be a process that is recorded.
  CHECK(said(Counter::kMappingEventsLost).find("recorded or not") != std::string::npos);
  // Where nothing is missing, they were others'.
  Ledger ledger = balanced();
  ledger.dropped = 0;
  ledger.written = ledger.taken;
  ledger.counters[Counter::kMappingEventsLost] = 3;
  CHECK(ledger_problems(ledger, false, false).empty());
}

TEST_CASE("messages: BPF is advised where it can be had") {
  for (const Counter counter : {Counter::kTicksSkipped, Counter::kThreadsWithoutProcessor}) {
    INFO(text_of(counter).name);
    Ledger ledger = balanced();
    ledger.dropped = 0;
    ledger.written = ledger.taken;
    ledger.counters[counter] = 3;
    const auto advises_bpf = [&](bool can_be_had) {
      const std::vector<std::string> lines = ledger_problems(ledger, can_be_had);
      REQUIRE(lines.size() == 1);
      return lines.front().find("--backend bpf") != std::string::npos;
    };
    CHECK(advises_bpf(true));
    CHECK(!advises_bpf(false));
  }
  NoSample none;
  none.ran = std::chrono::milliseconds(3);
  none.duration = std::chrono::seconds(1);
  none.frequency_hz = 99;
  none.ptrace = true;
  CHECK(why_no_sample(none).find("--backend bpf") == std::string::npos);
  none.bpf_helps = true;
  CHECK(why_no_sample(none).find("--backend bpf") != std::string::npos);
}

TEST_CASE("messages: a recording that was over at once says nothing about the target") {
  using std::chrono::milliseconds;
  NoSample none;
  none.frequency_hz = 99;
  none.ran = milliseconds(113);
  none.ended = true;
  CHECK(why_no_sample(none) == "the target ended before labelscope began to sample");
  none.duration = milliseconds(7);
  CHECK(why_no_sample(none) == "the target ended 7 ms after labelscope had begun to sample");
  none.interrupted = true;
  CHECK(why_no_sample(none) ==
        "the recording was interrupted 7 ms after labelscope had begun to sample");
  none.wall = true;
  none.ended = false;
  none.duration = {};
  CHECK(why_no_sample(none) == "the recording was interrupted before labelscope began to sample");
  // The command has run to its own end.
  none.interrupted = none.wall = false;
  none.ended = none.command = true;
  none.ran = milliseconds(2);
  none.duration = milliseconds(4);
  CHECK(why_no_sample(none).starts_with("the target ran for 2 ms of 4 ms, too little"));
  // A process cannot have run for longer than the recording.
  none.ran = milliseconds(113);
  CHECK(why_no_sample(none).starts_with("the target ran for 4 ms of 4 ms"));
}

TEST_CASE("messages: where threads wait is shown by --mode wall") {
  NoSample none;
  none.duration = std::chrono::seconds(1);
  none.frequency_hz = 99;
  CHECK(why_no_sample(none).find("waiting: --mode wall shows") != std::string::npos);
  none.standstill = "process 7 is stopped";
  CHECK(why_no_sample(none) == "process 7 is stopped");
}

TEST_CASE("messages: without a sample, only what can still help is advised") {
  NoSample none;
  none.ran = std::chrono::milliseconds(3);
  none.duration = std::chrono::milliseconds(40);
  none.frequency_hz = 99;
  CHECK(why_no_sample(none).ends_with("a higher -F helps, or a longer -d"));
  none.ended = true;
  CHECK(why_no_sample(none).ends_with("a higher -F helps, or a program that runs longer"));
}

TEST_CASE("messages: who waits without a thread is said once for all") {
  CHECK(waits_without_thread({}).empty());
  CHECK(waits_without_thread({"goroutines of Go"}).starts_with("goroutines of Go have no thread"));
  CHECK(waits_without_thread({"tasks of asyncio", "requests of node"})
            .starts_with("requests of node, and tasks of asyncio have no thread"));
}
