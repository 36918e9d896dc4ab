// Tests CPU time as the kernel reports it.
#include "process/cpu_times.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "support/catch.h"

namespace labelscope::test {

TEST_CASE(
    "cpu_times: of schedstat the first number is time on a processor, the second one before it") {
  const auto run = parse_run_time("123 456 789\n");
  REQUIRE(run);
  CHECK(run->ran_ns == 123);
  CHECK(run->waited_ns == 456);
  for (const char* text : {"", "123", "123 456", "123 456 x", "-1 2 3"}) {
    CHECK_FALSE(parse_run_time(text));
  }
}

TEST_CASE("cpu_times: threads and the process are reported, and what they run is added") {
  const Pid own{::getpid()};
  const auto threads = read_thread_times(own);
  REQUIRE(threads);
  CHECK(std::any_of(threads->begin(), threads->end(),
                    [&](const ThreadTime& thread) { return raw(thread.tid) == raw(own); }));
  const auto before = process_time(own);
  REQUIRE(before);
  rusage used{};
  const auto ran_ms = [&] {
    ::getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  };
  for (const auto start = ran_ms(); ran_ms() < start + 20;) continue;
  const auto after = process_time(own);
  REQUIRE(after);
  CHECK(*after >= *before + 15'000'000);
}

TEST_CASE("cpu_times: a process that is not there has none") {
  constexpr Pid kNobody{(1 << 22) + 1};  // above every pid_max
  CHECK_FALSE(process_time(kNobody));
  const auto threads = read_thread_times(kNobody);
  REQUIRE_FALSE(threads);
  CHECK(threads.error().code == ErrorCode::kVanished);
}

}  // namespace labelscope::test
