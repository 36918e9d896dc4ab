// A program whose threads wait, and which knows for how long: the truth for time off the processor.
//
//   timed_waits SECONDS
//
// Its threads, by their label `tenant`:
//   acme       waits for a mutex, which `holder` holds for 4 ms at a time, asleep
//   globex     reads a pipe, into which `feeder` writes every 7 ms
//   initech    sleeps 0.2 ms again and again
//   even, odd  one thread that sleeps 2 ms as `even`, then 6 ms as `odd`
//   still      waits for a condition that never comes true before the end
//   queue      two threads that compute on one processor, each of which waits for the other
//
// It prints "ready PID". At the end it prints a line of JSON: for each label the nanoseconds that
// its threads were off the processor, by their own clocks. The line before it has each thread: for
// how long it existed by the clock, and how long it ran and was queued by its schedstat.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "customlabels/labels.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 9> kTenants{"acme", "holder", "globex", "feeder", "initech",
                                              "even", "odd",    "still",  "queue"};
std::array<std::atomic<std::int64_t>, kTenants.size()> off_ns;
std::atomic<bool> over = false;
std::mutex lock;
std::mutex guard;
std::condition_variable end;
std::mutex lives_guard;
std::string lives;

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// How long the calling thread was off the processor since the last call.
class OffClock {
 public:
  std::int64_t take() {
    const std::int64_t off = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
    const std::int64_t since = off - last_;
    last_ = off;
    return since;
  }

 private:
  std::int64_t last_ = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
};

// Notes the account of the calling thread, from here to the end of the object.
class Life {
 public:
  ~Life() {
    long long ran = 0;
    long long queued = 0;
    std::FILE* file = std::fopen("/proc/thread-self/schedstat", "r");
    if (file == nullptr || std::fscanf(file, "%lld %lld", &ran, &queued) != 2) std::abort();
    std::fclose(file);
    const std::lock_guard<std::mutex> held(lives_guard);
    lives += (lives.empty() ? "{\"tid\": " : ", {\"tid\": ") + std::to_string(gettid()) +
             ", \"lived_ns\": " + std::to_string(now(CLOCK_MONOTONIC) - begun_) +
             ", \"ran_ns\": " + std::to_string(ran) + ", \"queued_ns\": " + std::to_string(queued) +
             "}";
  }

 private:
  std::int64_t begun_ = now(CLOCK_MONOTONIC);
};

std::atomic<std::int64_t>& account(const std::string& tenant) {
  for (std::size_t i = 0; i < kTenants.size(); ++i) {
    if (tenant == kTenants[i]) return off_ns[i];
  }
  std::abort();
}

// Runs `step` under the label until the end.
template <class Step>
std::thread start(const std::string& tenant, Step step) {
  return std::thread([=] {
    const Life life;
    const customlabels::Scope label("tenant", tenant);
    OffClock clock;
    while (!over) step();
    account(tenant) += clock.take();
  });
}

void compute_on_first_processor() {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
  const std::int64_t until = now(CLOCK_MONOTONIC) + 1'000'000;
  while (now(CLOCK_MONOTONIC) < until) continue;
}

std::thread start_changing() {
  return std::thread([] {
    const Life life;
    OffClock clock;
    while (!over) {
      for (const auto& [tenant, time] : {std::pair("even", 2ms), std::pair("odd", 6ms)}) {
        const customlabels::Scope label("tenant", tenant);
        clock.take();
        std::this_thread::sleep_for(time);
        account(tenant) += clock.take();
      }
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::printf("ready %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  std::vector<std::thread> threads;
  threads.push_back(start("holder", [] {
    const std::lock_guard<std::mutex> held(lock);
    std::this_thread::sleep_for(4ms);
  }));
  threads.push_back(start("acme", [] { const std::lock_guard<std::mutex> held(lock); }));
  threads.push_back(start("globex", [&] {
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) std::abort();
  }));
  threads.push_back(start("feeder", [&] {
    std::this_thread::sleep_for(7ms);
    if (write(ends[1], "x", 1) != 1) std::abort();
  }));
  threads.push_back(start("initech", [] { std::this_thread::sleep_for(200us); }));
  threads.push_back(start_changing());
  threads.push_back(start("still", [] {
    std::unique_lock<std::mutex> held(guard);
    end.wait(held, [] { return over.load(); });
  }));
  for (int i = 0; i < 2; ++i) threads.push_back(start("queue", compute_on_first_processor));
  std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(arguments[1])));
  {
    const std::lock_guard<std::mutex> held(guard);
    over = true;
  }
  end.notify_all();
  if (write(ends[1], "xx", 2) != 2) return 1;
  for (std::thread& thread : threads) thread.join();
  std::puts(("{\"threads\": [" + lives + "]}").c_str());
  std::string line;
  for (std::size_t i = 0; i < kTenants.size(); ++i) {
    line += (line.empty() ? "{\"" : ", \"") + std::string(kTenants[i]) +
            "\": " + std::to_string(off_ns[i]);
  }
  std::puts((line + "}").c_str());
  return 0;
}
