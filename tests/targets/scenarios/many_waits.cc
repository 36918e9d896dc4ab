// A program that waits as often as it can, under more label sets than totals are kept for.
//
//   many_waits SECONDS SETS
//
// Two threads pass a byte to and fro on one processor. Each has `tenant=flood` and, beside it, a
// label `turn` with one value after the other of SETS ones. A third thread, `tenant=steady`, sleeps
// 5 ms at a time. At the end the program prints a line of JSON: for how many nanoseconds the
// threads of each tenant were off the processor, by their own clocks, and how many turns there
// were.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "customlabels/labels.hpp"

namespace {

std::atomic<bool> over = false;
std::atomic<std::int64_t> flood_ns = 0;
std::atomic<std::int64_t> steady_ns = 0;

std::int64_t off_ns() {
  const auto now = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
}

void stay_on_last_processor() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) std::abort();
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) last = i;
  }
  CPU_ZERO(&allowed);
  CPU_SET(last, &allowed);
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) std::abort();
}

// Returns the number of turns. The peer gets a byte for each, and at the end one more.
long pass(int in, int out, long sets) {
  stay_on_last_processor();
  const std::int64_t before = off_ns();
  long turns = 0;
  char byte = 0;
  while (!over) {
    const customlabels::Scope tenant("tenant", "flood");
    const customlabels::Scope turn("turn", std::to_string(turns % sets));
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) break;
    ++turns;
  }
  flood_ns += off_ns() - before;
  if (write(out, &byte, 1) != 1) std::abort();
  return turns;
}

}  // namespace

int main(int count, char** arguments) {
  int to[2];
  int fro[2];
  if (count != 3 || pipe(to) != 0 || pipe(fro) != 0) return 2;
  const long sets = std::atol(arguments[2]);
  long turns = 0;
  std::thread first([&] { turns = pass(fro[0], to[1], sets); });
  std::thread second([&] { pass(to[0], fro[1], sets); });
  std::thread steady([] {
    const customlabels::Scope tenant("tenant", "steady");
    const std::int64_t before = off_ns();
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    steady_ns += off_ns() - before;
  });
  std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(arguments[1])));
  over = true;
  for (std::thread* thread : {&first, &second, &steady}) thread->join();
  std::printf("{\"flood\": %lld, \"steady\": %lld, \"turns\": %ld}\n",
              static_cast<long long>(flood_ns), static_cast<long long>(steady_ns), turns);
  return 0;
}
