// A program that waits as often as it can, under more label sets than totals are kept for.
//
//   many_waits SECONDS SETS [MOST]  or longer, until the threads have taken SETS turns together
//
// With MOST they take so many turns in a millisecond, at most.
//
// Two threads pass a byte to and fro on one processor. Each has `tenant=flood` and, beside it, a
// label `turn` with one value after the other of SETS ones. A third thread, `tenant=steady`, reads
// a pipe into which the first one of the program writes every 5 ms. At the end the program prints a
// line of JSON: for how many nanoseconds the threads of each tenant were off the processor, by
// their own clocks, and how many turns there were.
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
std::atomic<long> turns = 0;

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

// The peer gets a byte for each turn, and at the end one more. `most`: as MOST, 0: without a bound.
void pass(int in, int out, long sets, long most) {
  stay_on_last_processor();
  const std::int64_t before = off_ns();
  char byte = 0;
  for (long turn_number = 0; !over; ++turn_number) {
    const customlabels::Scope tenant("tenant", "flood");
    const customlabels::Scope turn("turn", std::to_string(turn_number % sets));
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) break;
    ++turns;
    if (most != 0 && turn_number % most == 0) usleep(1000);
  }
  flood_ns += off_ns() - before;
  if (write(out, &byte, 1) != 1) std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  int to[2];
  int fro[2];
  int slow[2];
  if (count < 3 || count > 4 || pipe(to) != 0 || pipe(fro) != 0 || pipe(slow) != 0) return 2;
  const long sets = std::atol(arguments[2]);
  const long most = count > 3 ? std::atol(arguments[3]) : 0;
  std::thread first([&] { pass(fro[0], to[1], sets, most); });
  std::thread second([&] { pass(to[0], fro[1], sets, 0); });
  std::thread steady([&] {
    const customlabels::Scope tenant("tenant", "steady");
    const std::int64_t before = off_ns();
    char byte = 0;
    while (!over && read(slow[0], &byte, 1) == 1) continue;
    steady_ns += off_ns() - before;
  });
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(arguments[1]));
  while (std::chrono::steady_clock::now() < end || turns < sets) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (write(slow[1], "x", 1) != 1) return 1;
  }
  over = true;
  if (write(slow[1], "x", 1) != 1) return 1;
  for (std::thread* thread : {&first, &second, &steady}) thread->join();
  std::printf("{\"flood\": %lld, \"steady\": %lld, \"turns\": %ld}\n",
              static_cast<long long>(flood_ns), static_cast<long long>(steady_ns), turns.load());
  return 0;
}
