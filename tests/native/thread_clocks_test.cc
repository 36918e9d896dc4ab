// ThreadClocks over this process's own threads: the time that they ran before is subtracted, once.
#include "bpf/sampling/thread_clocks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "process/cpu_times.h"
#include "support/catch.h"

using namespace labelscope;

namespace {

const Pid kOwn{::getpid()};
const Tid kFirst{::getpid()};
constexpr Tid kMadeLater{1 << 30};
constexpr std::uint64_t kMs = 1'000'000;

// Returns what the first thread has run, or less, never more.
std::uint64_t first_ran() {
  const auto times = read_thread_times(kOwn);
  if (!times) return 0;
  const auto own = std::find_if(times->begin(), times->end(),
                                [](const ThreadTime& thread) { return thread.tid == kFirst; });
  return own == times->end() ? 0 : own->ran_ns;
}

// The kernel's account is up to a tick behind, and is empty at first.
void run_a_while() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (first_ran() < 2 * kMs) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("the kernel counts no time");
  }
}

}  // namespace

TEST_CASE("thread_clocks: what a thread had run before is not part of the recording") {
  run_a_while();
  const std::uint64_t earlier = first_ran();
  ThreadClocks clocks;
  clocks.begin(kOwn);
  const std::uint64_t later = first_ran();
  const std::uint64_t since = clocks.at(kOwn, kFirst, 0, later + 5 * kMs).ran_ns;
  CHECK(since >= 5 * kMs);
  CHECK(since <= later - earlier + 5 * kMs);
  CHECK(clocks.at(kOwn, kMadeLater, 0, 7 * kMs).ran_ns == 7 * kMs);
}

TEST_CASE("thread_clocks: a number that another thread has got begins at 0") {
  run_a_while();
  ThreadClocks clocks;
  clocks.begin(kOwn);
  CHECK(clocks.at(kOwn, kFirst, 0, 1).ran_ns == 1);
  CHECK(clocks.at(kOwn, kFirst, 0, 9).ran_ns == 9);
}

TEST_CASE("thread_clocks: after its end a number begins at 0") {
  run_a_while();
  ThreadClocks clocks;
  clocks.begin(kOwn);
  const std::uint64_t now = first_ran() + kMs;
  CHECK(clocks.end(kOwn, kFirst, 0, now)->ran_ns < now);
  CHECK(clocks.at(kOwn, kFirst, 0, now).ran_ns == now);
}

namespace {

// Thread kB, whose number was kOther, executes a program and takes the number of the first thread,
// kA. Both had run before the recording.
constexpr Tid kOther{1 << 29};
constexpr std::uint32_t kA = 11;
constexpr std::uint32_t kB = 13;
constexpr std::uint64_t kRanA = 100 * kMs;
constexpr std::uint64_t kRanB = 40 * kMs;

ThreadClocks two_threads() {
  const ThreadTime times[] = {{kFirst, kRanA, kA}, {kOther, kRanB, kB}};
  ThreadClocks clocks;
  clocks.begin(kOwn, times);
  CHECK(clocks.at(kOwn, kFirst, kA, kRanA + 3 * kMs).ran_ns == 3 * kMs);
  return clocks;
}

bool is(const std::optional<ThreadClocks::Time>& time, Tid tid, std::uint64_t ran_ns) {
  return time && time->pid == kOwn && time->tid == tid && time->ran_ns == ran_ns;
}

}  // namespace

TEST_CASE("thread_clocks: a thread that executes a program takes its time along, once") {
  ThreadClocks clocks = two_threads();
  // Samples under the number that it has taken are its own, before the exec's record comes and also
  // if the first thread's end comes before.
  const bool first_ends_before = GENERATE(false, true);
  if (first_ends_before) CHECK(is(clocks.end(kOwn, kFirst, kA, kRanA + 4 * kMs), kFirst, 4 * kMs));
  CHECK(is(clocks.at(kOwn, kFirst, kB, kRanB + 5 * kMs), kOther, 5 * kMs));
  CHECK(is(clocks.exec(kOwn, kOther, kB, kRanB + 6 * kMs), kOther, 6 * kMs));
  CHECK(is(clocks.at(kOwn, kFirst, kB, kRanB + 8 * kMs), kFirst, 2 * kMs));
  if (!first_ends_before) CHECK_FALSE(clocks.end(kOwn, kFirst, kA, kRanA + 4 * kMs));
  CHECK(is(clocks.at(kOwn, kFirst, kB, kRanB + 9 * kMs), kFirst, 3 * kMs));
  // The new first thread's own end is one.
  CHECK(is(clocks.end(kOwn, kFirst, kB, kRanB + 10 * kMs), kFirst, 4 * kMs));
}

TEST_CASE("thread_clocks: an exec whose former number is not known is found by its thread") {
  ThreadClocks clocks = two_threads();
  CHECK(is(clocks.exec(kOwn, Tid{}, kB, kRanB + 6 * kMs), kOther, 6 * kMs));
  CHECK(is(clocks.at(kOwn, kFirst, kB, kRanB + 8 * kMs), kFirst, 2 * kMs));
}

TEST_CASE("thread_clocks: a thread whose exec was lost goes on under its own number") {
  ThreadClocks clocks = two_threads();
  clocks.note_unseen_exec(kOwn);
  CHECK(is(clocks.at(kOwn, kFirst, kB, kRanB + 8 * kMs), kOther, 8 * kMs));
  CHECK(is(clocks.end(kOwn, kFirst, kB, kRanB + 9 * kMs), kOther, 9 * kMs));
}

TEST_CASE("thread_clocks: the time of a thread of which nothing is known does not count twice") {
  constexpr std::uint32_t kUnknown = 17;
  ThreadClocks clocks = two_threads();
  CHECK(is(clocks.at(kOwn, kFirst, kUnknown, 900 * kMs), kFirst, 3 * kMs));
  SECTION("until its exec says what it was") {
    CHECK(is(clocks.exec(kOwn, kMadeLater, kUnknown, 950 * kMs), kMadeLater, 950 * kMs));
    CHECK(is(clocks.at(kOwn, kFirst, kUnknown, 951 * kMs), kFirst, kMs));
  }
  SECTION("and goes on from there if its exec was lost") {
    clocks.note_unseen_exec(kOwn);
    CHECK(is(clocks.at(kOwn, kFirst, kUnknown, 950 * kMs), kFirst, 3 * kMs));
    CHECK(is(clocks.at(kOwn, kFirst, kUnknown, 952 * kMs), kFirst, 5 * kMs));
  }
}

TEST_CASE("thread_clocks: a number that another thread has begins at 0, if that was seen or not") {
  ThreadClocks clocks = two_threads();
  CHECK(is(clocks.at(kOwn, kOther, 19, kRanB + 50 * kMs), kOther, kRanB + 50 * kMs));
  CHECK_FALSE(clocks.end(kOwn, kOther, kB, kRanB + kMs));
  // A process that was forked since has the number.
  clocks.forget_identity(kFirst);
  CHECK(is(clocks.at(kOwn, kFirst, 23, 2 * kMs), kFirst, 2 * kMs));
}

TEST_CASE("thread_clocks: an exec between the freeze and the reading of its record") {
  ThreadClocks clocks = two_threads();
  const ThreadTime times[] = {{kFirst, kRanB + 7 * kMs, kB}};
  clocks.freeze(kOwn, times);
  CHECK(is(clocks.exec(kOwn, kOther, kB, kRanB + 6 * kMs), kOther, 6 * kMs));
  const auto frozen = clocks.take_frozen();
  REQUIRE(frozen.size() == 1);
  CHECK(is(frozen[0], kFirst, kMs));
}

TEST_CASE("thread_clocks: a thread that ends after the freeze is reported as it was then") {
  ThreadClocks clocks;
  run_a_while();
  const std::uint64_t earlier = first_ran();
  clocks.freeze(kOwn);
  const std::uint64_t later = first_ran();
  const auto ended = clocks.end(kOwn, kFirst, 0, later + 100 * kMs);
  REQUIRE(ended);
  CHECK(ended->ran_ns >= earlier);
  CHECK(ended->ran_ns <= later);
  // It is reported once: the frozen time is taken.
  for (const ThreadClocks::Time& thread : clocks.take_frozen()) CHECK(thread.tid != kFirst);
}

TEST_CASE("thread_clocks: those that go on are reported at the end") {
  ThreadClocks clocks;
  clocks.begin(kOwn);
  clocks.freeze(kOwn);
  const auto frozen = clocks.take_frozen();
  CHECK(std::any_of(frozen.begin(), frozen.end(),
                    [](const ThreadClocks::Time& thread) { return thread.tid == kFirst; }));
  CHECK(clocks.take_frozen().empty());
}
