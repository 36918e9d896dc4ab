// ThreadClocks over this process's own threads: the time that they ran before is subtracted, once.
#include "bpf/sampling/thread_clocks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

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
  const std::uint64_t since = clocks.since_start(kOwn, kFirst, later + 5 * kMs);
  CHECK(since >= 5 * kMs);
  CHECK(since <= later - earlier + 5 * kMs);
  CHECK(clocks.since_start(kOwn, kMadeLater, 7 * kMs) == 7 * kMs);
}

TEST_CASE("thread_clocks: a number that another thread has got begins at 0") {
  run_a_while();
  ThreadClocks clocks;
  clocks.begin(kOwn);
  CHECK(clocks.since_start(kOwn, kFirst, 1) == 1);
  CHECK(clocks.since_start(kOwn, kFirst, 9) == 9);
}

TEST_CASE("thread_clocks: after its end a number begins at 0") {
  run_a_while();
  ThreadClocks clocks;
  clocks.begin(kOwn);
  const std::uint64_t now = first_ran() + kMs;
  CHECK(clocks.end(kOwn, kFirst, now).ran_ns < now);
  CHECK(clocks.since_start(kOwn, kFirst, now) == now);
}

TEST_CASE("thread_clocks: an exec by another thread gives it the first thread's number") {
  ThreadClocks clocks;
  const EndedThread former = clocks.rename(kOwn, kMadeLater, 4 * kMs);
  CHECK(former.tid == kMadeLater);
  CHECK(former.ran_ns == 4 * kMs);
  // The time under its own number is already reported.
  CHECK(clocks.since_start(kOwn, kFirst, 6 * kMs) == 2 * kMs);
  CHECK(clocks.was_replaced(kOwn, kFirst));
  CHECK_FALSE(clocks.was_replaced(kOwn, kFirst));
}

TEST_CASE("thread_clocks: a thread that ends after the freeze is reported as it was then") {
  ThreadClocks clocks;
  run_a_while();
  const std::uint64_t earlier = first_ran();
  clocks.freeze(kOwn);
  const std::uint64_t later = first_ran();
  const EndedThread ended = clocks.end(kOwn, kFirst, later + 100 * kMs);
  CHECK(ended.ran_ns >= earlier);
  CHECK(ended.ran_ns <= later);
  // It is reported once: the frozen time is taken.
  for (const EndedThread& thread : clocks.take_frozen()) CHECK(thread.tid != kFirst);
}

TEST_CASE("thread_clocks: those that go on are reported at the end") {
  ThreadClocks clocks;
  clocks.begin(kOwn);
  clocks.freeze(kOwn);
  const auto frozen = clocks.take_frozen();
  CHECK(std::any_of(frozen.begin(), frozen.end(),
                    [](const EndedThread& thread) { return thread.tid == kFirst; }));
  CHECK(clocks.take_frozen().empty());
}
