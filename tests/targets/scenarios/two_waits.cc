// A program of one thread that waits in two functions by one system call, so that their shares are
// known by their stacks alone.
//
// short_waits() sleeps sixteen times for 0.3 ms, long_wait() once for 5 ms; each makes up about a
// half. Until SIGTERM it prints a line after each pair of calls: the time, and how long it was in
// each function so far; all in nanoseconds of CLOCK_MONOTONIC.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {

volatile std::sig_atomic_t over = 0;

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void sleep_ns(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

}  // namespace

extern "C" __attribute__((noinline)) std::int64_t short_waits() {
  const std::int64_t before = now();
  for (int i = 0; i < 16; ++i) sleep_ns(300'000);
  return now() - before;
}

extern "C" __attribute__((noinline)) std::int64_t long_wait() {
  const std::int64_t before = now();
  sleep_ns(5'000'000);
  return now() - before;
}

int main() {
  std::signal(SIGTERM, [](int) { over = 1; });
  std::int64_t in_short = 0;
  std::int64_t in_long = 0;
  while (over == 0) {
    in_short += short_waits();
    in_long += long_wait();
    std::printf("%lld %lld %lld\n", static_cast<long long>(now()), static_cast<long long>(in_short),
                static_cast<long long>(in_long));
  }
  return 0;
}
