// A program whose threads wait for locks, and for what only looks like one: the truth for the
// owners that --blame finds.
//
//   lock_owners
//
// Threads by their label `tenant`. Each holder locks under the label NAME-owner, and unlocks under
// the label NAME-late, so whoever blames the one that wakes blames the wrong label:
//   NAME-waiter              waits because of NAME-owner. NAME is a kind of mutex, or `busy`, where
//                            the holder computes, or `rw-read` and `rw-write` of read-write locks
//   turn-2, turn-3, turn-4   they come in this order while turn-1 has the lock, and get it in the
//                            same order: all of them wait because of turn-1
//   shared-waiter            waits because of shared-late: a thread of another process holds the
//                            lock, and counts in its own way
//   NAME-sleeper             waits because of NAME-waker: a condition variable, a semaphore, Rust's
//                            mutex, and words that imitate a mutex and say something wrong
//   innocent                 has a number that stands where an owner might, and holds no lock
//
// It prints "ready PID CHILD", and runs until standard input ends.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "customlabels/labels.hpp"
#include "lock_imitations.h"

namespace {

using namespace std::chrono_literals;
using customlabels::Scope;
using labelscope::test::Imitations;
using labelscope::test::own_number;

std::atomic<bool> over = false;

// Runs `step` under the label until the end.
std::thread start(const std::string& tenant, const std::function<void()>& step) {
  return std::thread([=] {
    const Scope label("tenant", tenant);
    while (!over) step();
  });
}

void must(int error) {
  if (error != 0) std::abort();
}

void compute(std::chrono::steady_clock::duration time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) continue;
}

// ---- a holder and a waiter

// What a pair of threads needs. The waiter takes the lock only while it is held, so that it waits.
struct Pair {
  std::string name;
  std::function<void()> lock;
  std::function<void()> unlock;
  std::function<void()> wait;  // for the lock, and leaves it
  bool computes = false;
  std::atomic<bool> held = false;
};

void hold(Pair& pair) {
  {
    const Scope owner("tenant", pair.name + "-owner");
    pair.lock();
    pair.held = true;
    if (pair.computes) {
      compute(4ms);
    } else {
      std::this_thread::sleep_for(4ms);
    }
    const Scope late("tenant", pair.name + "-late");
    pair.held = false;
    pair.unlock();
  }
  std::this_thread::sleep_for(1ms);
}

void want(Pair& pair) {
  if (pair.held) {
    pair.wait();
  } else {
    std::this_thread::sleep_for(200us);
  }
}

void start(const std::shared_ptr<Pair>& pair, std::vector<std::thread>& threads) {
  threads.push_back(start(pair->name + "-holder", [pair] { hold(*pair); }));
  threads.push_back(start(pair->name + "-waiter", [pair] { want(*pair); }));
}

struct Kind {
  int type = PTHREAD_MUTEX_NORMAL;
  int protocol = PTHREAD_PRIO_NONE;
  int robust = PTHREAD_MUTEX_STALLED;
  int shared = PTHREAD_PROCESS_PRIVATE;
  bool timed = false;
  bool computes = false;
};

void make(pthread_mutex_t& mutex, const Kind& kind) {
  pthread_mutexattr_t how;
  must(pthread_mutexattr_init(&how));
  must(pthread_mutexattr_settype(&how, kind.type));
  must(pthread_mutexattr_setprotocol(&how, kind.protocol));
  must(pthread_mutexattr_setrobust(&how, kind.robust));
  must(pthread_mutexattr_setpshared(&how, kind.shared));
  must(pthread_mutex_init(&mutex, &how));
}

void lock_until(pthread_mutex_t& mutex) {
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 60;
  must(pthread_mutex_timedlock(&mutex, &deadline));
}

std::shared_ptr<Pair> pair_of(const std::string& name, const Kind& kind, pthread_mutex_t* mutex) {
  auto pair = std::make_shared<Pair>();
  pair->name = name;
  pair->computes = kind.computes;
  pair->lock = [mutex] { must(pthread_mutex_lock(mutex)); };
  pair->unlock = [mutex] { must(pthread_mutex_unlock(mutex)); };
  pair->wait = [mutex, timed = kind.timed] {
    if (timed) {
      lock_until(*mutex);
    } else {
      must(pthread_mutex_lock(mutex));
    }
    must(pthread_mutex_unlock(mutex));
  };
  return pair;
}

void start_mutexes(std::vector<std::thread>& threads) {
  struct Named {
    const char* name;
    Kind kind;
  };
  const Named all[] = {
      {"normal", {}},
      {"busy", {.computes = true}},
      {"timed", {.timed = true}},
      {"recursive", {.type = PTHREAD_MUTEX_RECURSIVE}},
      {"errorcheck", {.type = PTHREAD_MUTEX_ERRORCHECK}},
      {"adaptive", {.type = PTHREAD_MUTEX_ADAPTIVE_NP}},
      {"robust", {.robust = PTHREAD_MUTEX_ROBUST}},
      {"inherit", {.protocol = PTHREAD_PRIO_INHERIT}},
  };
  for (const Named& named : all) {
    auto* mutex = new pthread_mutex_t;
    make(*mutex, named.kind);
    start(pair_of(named.name, named.kind, mutex), threads);
  }
}

void start_rwlocks(std::vector<std::thread>& threads) {
  for (const bool reads : {true, false}) {
    auto* lock = new pthread_rwlock_t;
    must(pthread_rwlock_init(lock, nullptr));
    auto pair = std::make_shared<Pair>();
    pair->name = reads ? "rw-read" : "rw-write";
    pair->lock = [lock] { must(pthread_rwlock_wrlock(lock)); };
    pair->unlock = [lock] { must(pthread_rwlock_unlock(lock)); };
    pair->wait = [lock, reads] {
      must(reads ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock));
      must(pthread_rwlock_unlock(lock));
    };
    start(pair, threads);
  }
}

// ---- a lock that goes through three holders

class Turns {
 public:
  static constexpr int kThreads = 4;

  void step(int place) {
    const int of_round = round_;
    if (place == 0) {
      must(pthread_mutex_lock(&mutex_));
      next_ = 1;
      wait_until([&] { return next_ == kThreads && is_in_futex(kThreads - 1); });
    } else {
      numbers_[place] = own_number();
      wait_until([&] { return next_ == place && (place == 1 || is_in_futex(place - 1)); });
      next_ = place + 1;
      must(pthread_mutex_lock(&mutex_));
    }
    std::this_thread::sleep_for(3ms);
    must(pthread_mutex_unlock(&mutex_));
    if (++done_ == kThreads) {
      done_ = 0;
      next_ = 0;
      ++round_;
    }
    wait_until([&] { return round_ != of_round; });
  }

 private:
  static void wait_until(const std::function<bool()>& holds) {
    while (!holds() && !over) std::this_thread::sleep_for(100us);
  }
  // Returns whether a thread sleeps for a futex. One that has lost its processor on the way there
  // is in the system call, too, but not yet in the queue.
  bool is_in_futex(int place) {
    const std::string thread = "/proc/self/task/" + std::to_string(numbers_[place]);
    std::ifstream file(thread + "/syscall");
    std::ifstream stat(thread + "/stat");
    std::string line;
    int call = -1;
    return file >> call && call == SYS_futex && std::getline(stat, line) &&
           line.find(") S ") != std::string::npos;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> next_ = 0;
  std::atomic<int> done_ = 0;
  std::atomic<int> round_ = 0;
  std::array<std::atomic<std::uint32_t>, kThreads> numbers_{};
};

// ---- what is no lock

// A word, and what a thread does that finds it so.
struct Word {
  std::function<void()> sleep;
  std::function<void()> wake;
};

void start(const char* name, const Word& word, std::vector<std::thread>& threads) {
  threads.push_back(start(std::string(name) + "-sleeper", word.sleep));
  threads.push_back(start(std::string(name) + "-waker", [word] {
    std::this_thread::sleep_for(3ms);
    word.wake();
  }));
}

Word condition(bool timed) {
  struct All {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    bool raised = false;
  };
  auto* all = new All;
  Word word;
  word.sleep = [all, timed] {
    must(pthread_mutex_lock(&all->mutex));
    timespec deadline{};
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    while (!all->raised && !over) {
      must(timed ? pthread_cond_timedwait(&all->changed, &all->mutex, &deadline)
                 : pthread_cond_wait(&all->changed, &all->mutex));
    }
    all->raised = false;
    must(pthread_mutex_unlock(&all->mutex));
  };
  word.wake = [all] {
    must(pthread_mutex_lock(&all->mutex));
    all->raised = true;
    must(pthread_mutex_unlock(&all->mutex));
    must(pthread_cond_signal(&all->changed));
  };
  return word;
}

Word semaphore() {
  auto* all = new sem_t;
  must(sem_init(all, 0, 0));
  return {[all] { sem_wait(all); }, [all] { must(sem_post(all)); }};
}

// ---- another process

struct Shared {
  pthread_mutex_t mutex;
  std::atomic<bool> held;
  std::atomic<bool> over;
};

[[noreturn]] void hold_in_child(Shared& shared) {
  while (!shared.over && getppid() != 1) {
    {
      const Scope owner("tenant", std::string("shared-owner"));
      must(pthread_mutex_lock(&shared.mutex));
      shared.held = true;
      std::this_thread::sleep_for(4ms);
      const Scope late("tenant", std::string("shared-late"));
      shared.held = false;
      must(pthread_mutex_unlock(&shared.mutex));
    }
    std::this_thread::sleep_for(1ms);
  }
  std::_Exit(0);
}

}  // namespace

int main() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared{};
  make(shared.mutex, {.shared = PTHREAD_PROCESS_SHARED});
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) hold_in_child(shared);

  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> innocent = 0;
  threads.push_back(start("innocent", [&] {
    innocent = own_number();
    std::this_thread::sleep_for(5ms);
  }));
  while (innocent == 0) std::this_thread::sleep_for(1ms);
  start_mutexes(threads);
  start_rwlocks(threads);
  Turns turns;
  for (int place = 0; place < Turns::kThreads; ++place) {
    threads.push_back(
        start("turn-" + std::to_string(place + 1), [&turns, place] { turns.step(place); }));
  }
  threads.push_back(start("shared-waiter", [&shared] {
    if (!shared.held) return std::this_thread::sleep_for(200us);
    must(pthread_mutex_lock(&shared.mutex));
    must(pthread_mutex_unlock(&shared.mutex));
  }));
  start("condition", condition(false), threads);
  start("until", condition(true), threads);
  start("semaphore", semaphore(), threads);
  Imitations imitations(innocent, over);
  start("imitation", {[&] { imitations.sleep(); }, [&] { imitations.wake(); }}, threads);
  std::printf("ready %d %d\n", static_cast<int>(getpid()), static_cast<int>(child));
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) continue;
  shared.over = true;
  over = true;
  waitpid(child, nullptr, 0);
  std::fflush(stdout);
  std::_Exit(0);  // some wait until they are woken
}
