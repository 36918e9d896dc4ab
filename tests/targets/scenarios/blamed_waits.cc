// A program whose threads make each other wait, and which knows who: the truth for --blame.
//
//   blamed_waits
//
// Pairs of threads, by their label `tenant`; the first waits because of the second:
//   mutex-waiter, mutex-holder      a mutex, which the second holds for 4 ms at a time, asleep
//   reader, writer                  a read-write lock, likewise
//   cond-waiter, notifier           a condition variable, which the second notifies every 4 ms
//   consumer, producer              a pipe, into which the second writes every 4 ms
//   joiner, joined                  a thread that sleeps 4 ms and ends, which the first one joins
//   parent, child                   a process that sleeps 4 ms and ends, which the first one reaps
//   late, late-waker                a condition that comes true when standard input has a line
//   queue-a, queue-b                each computes on the first processor, where the other does, too
// All but these two run on the last processor, and so do:
//   sleeper                         sleeps 1 ms again and again: a timer wakes it
//   bystander                       computes, so that the timers interrupt it. It makes nobody wait
//
// It prints "ready PID", and runs until standard input has a line that begins with e.
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "customlabels/labels.hpp"

namespace {

using namespace std::chrono_literals;

std::atomic<bool> over = false;

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void run_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::abort();
}

// Runs `step` under the label until the end.
std::thread start(const std::string& tenant, const std::function<void()>& step) {
  return std::thread([=] {
    const customlabels::Scope label("tenant", tenant);
    while (!over) step();
  });
}

// The first and the last processor that this program may use.
std::pair<int, int> outer_processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (sched_getaffinity(0, sizeof all, &all) != 0) std::abort();
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all)) --last;
  return {first, last};
}

void compute() {
  const std::int64_t until = now() + 1'000'000;
  while (now() < until) continue;
}

// A flag that one thread raises and another one waits for.
class Flag {
 public:
  void raise() {
    {
      const std::lock_guard<std::mutex> held(lock_);
      raised_ = true;
    }
    changed_.notify_one();
  }
  void take() {
    std::unique_lock<std::mutex> held(lock_);
    changed_.wait(held, [&] { return raised_ || over.load(); });
    raised_ = false;
  }
  void end() {
    const std::lock_guard<std::mutex> held(lock_);
    changed_.notify_all();
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool raised_ = false;
};

std::mutex held_mutex;
pthread_rwlock_t held_lock = PTHREAD_RWLOCK_INITIALIZER;
Flag noticed;
Flag finally;
std::atomic<bool> ordered = false;

}  // namespace

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::printf("ready %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  const auto [first, last] = outer_processors();
  run_on(last);
  std::vector<std::thread> threads;
  threads.push_back(start("mutex-holder", [] {
    const std::lock_guard<std::mutex> held(held_mutex);
    std::this_thread::sleep_for(4ms);
  }));
  threads.push_back(start("mutex-waiter", [] {
    held_mutex.lock();
    held_mutex.unlock();
  }));
  threads.push_back(start("writer", [] {
    pthread_rwlock_wrlock(&held_lock);
    std::this_thread::sleep_for(4ms);
    pthread_rwlock_unlock(&held_lock);
    std::this_thread::sleep_for(1ms);
  }));
  threads.push_back(start("reader", [] {
    pthread_rwlock_rdlock(&held_lock);
    pthread_rwlock_unlock(&held_lock);
  }));
  threads.push_back(start("notifier", [] {
    std::this_thread::sleep_for(4ms);
    noticed.raise();
  }));
  threads.push_back(start("cond-waiter", [] { noticed.take(); }));
  threads.push_back(start("producer", [&] {
    std::this_thread::sleep_for(4ms);
    if (write(ends[1], "x", 1) != 1) std::abort();
  }));
  threads.push_back(start("consumer", [&] {
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) std::abort();
  }));
  threads.push_back(start("joiner", [] {
    std::thread([] {
      const customlabels::Scope label("tenant", std::string("joined"));
      std::this_thread::sleep_for(4ms);
    }).join();
  }));
  threads.push_back(start("parent", [] {
    const pid_t child = fork();
    if (child == 0) {
      const customlabels::Scope label("tenant", std::string("child"));
      std::this_thread::sleep_for(4ms);
      std::_Exit(0);
    }
    if (waitpid(child, nullptr, 0) != child) std::abort();
  }));
  threads.push_back(start("late-waker", [] {
    std::this_thread::sleep_for(1ms);
    if (ordered.exchange(false)) finally.raise();
  }));
  threads.emplace_back([] {
    const customlabels::Scope label("tenant", std::string("late"));
    finally.take();
  });
  threads.push_back(start("sleeper", [] { std::this_thread::sleep_for(1ms); }));
  threads.push_back(start("bystander", compute));
  run_on(first);  // threads run where the one does that has started them
  threads.push_back(start("queue-a", compute));
  threads.push_back(start("queue-b", compute));
  char order = 0;
  while (read(STDIN_FILENO, &order, 1) == 1 && order != 'e') ordered = true;
  over = true;
  noticed.end();
  finally.end();
  if (write(ends[1], "xx", 2) != 2) return 1;
  for (std::thread& thread : threads) thread.join();
  return 0;
}
