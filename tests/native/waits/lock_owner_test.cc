// lock_owner.bpf.h and what blame.bpf.h makes of it: the thread that holds the lock for which
// another one waits.
#include <linux/futex.h>

#include <cstdint>
#include <string>

#include "native/waits/machine.h"
#include "sampling/sample_kind.h"
#include "support/catch.h"

using namespace labelscope::test;

namespace {

constexpr std::uint64_t kUs = 1000;
constexpr unsigned kCpu = 0;
constexpr unsigned kOther = 1;
constexpr unsigned kThird = 2;
constexpr long kFutex = 202;

// As glibc has them.
struct Mutex {
  std::uint32_t lock = 2;
  std::uint32_t count = 0;
  std::uint32_t owner = 0;
  std::uint32_t users = 1;
  std::uint32_t kind = 0;
  std::uint32_t spins = 0;
  std::uint64_t list[2] = {};
};
struct RwLock {
  std::uint32_t readers = 3;  // in the phase of writing, and locked for it
  std::uint32_t writers = 0;
  std::uint32_t phase = 3;
  std::uint32_t writing = 0;
  std::uint32_t pad[2] = {};
  std::uint32_t owner = 0;
  std::uint32_t shared = 0;
};

std::uint64_t address_of(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

// "owner" has a lock for which "waiter" waits; "third" lets go of it.
struct Three {
  Three()
      : waiter(machine.process(100)),
        owner(machine.thread(100, 101)),
        third(machine.thread(100, 102)) {
    machine.label(waiter, "waiter");
    machine.label(owner, "owner");
    machine.label(third, "third");
    machine.change(kCpu, &waiter);
    machine.change(kOther, &owner);
    machine.change(kThird, &third);
    machine.pass(5 * kUs);
  }
  static void futex(FakeThread& thread, const void* word, std::uint32_t operation,
                    std::uint32_t value, std::uint64_t timeout = 0) {
    Machine::call(thread, kFutex);
    thread.task.registers.di = address_of(word);
    thread.task.registers.si = operation;
    thread.task.registers.dx = value;
    thread.task.registers.r10 = timeout;
  }
  // The waiter waits for 10 us, and then the thread on `by` lets go of the lock.
  void wait(unsigned by) {
    machine.change(kCpu, nullptr);
    machine.pass(10 * kUs);
    machine.label(owner, "owner later");
    machine.wake(waiter, by);
    machine.change(kCpu, &waiter);
    machine.label(owner, "owner");
    machine.pass(kUs);
  }
  std::uint64_t by_owner() { return machine.blamed("waiter", "owner 100 owner"); }
  std::uint64_t by_third() { return machine.blamed("waiter", "thread 100 third"); }
  // The owner is known, as of the moment when the wait began.
  bool finds() {
    wait(kOther);
    return by_owner() == 10 * kUs;
  }

  Machine machine{true, 3};
  FakeThread& waiter;
  FakeThread& owner;
  FakeThread& third;
};

}  // namespace

TEST_CASE("lock_owner: the owner of a mutex, with the labels of when the wait began") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  Three::futex(of.owner, &mutex, FUTEX_WAKE_PRIVATE, 1);
  CHECK(of.finds());
  CHECK(of.machine.counted(LS_COUNT_OWNERS_FOUND) == 1);
  CHECK(of.by_third() == 0);
}

TEST_CASE("lock_owner: a word of another shape has no owner") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  std::uint32_t operation = FUTEX_WAIT_PRIVATE;
  std::uint32_t value = 2;
  SECTION("nobody") { mutex.owner = 0; }
  SECTION("the waiter itself") { mutex.owner = 100; }
  SECTION("no thread of the process") { mutex.owner = 999; }
  SECTION("no users") { mutex.users = 0; }
  SECTION("an unknown kind") { mutex.kind = 0x400; }
  SECTION("a count that only recursive ones have") { mutex.count = 1; }
  SECTION("a recursive one without a count") { mutex.kind = 1; }
  SECTION("another value") { value = 1; }
  SECTION("the word has changed") { mutex.lock = 1; }
  SECTION("a list that only robust ones have") { mutex.list[1] = 5; }
  SECTION("one that the program shares") { operation = FUTEX_WAIT; }
  SECTION("Rust's") { operation = FUTEX_WAIT_BITSET_PRIVATE; }
  SECTION("a condition") { operation = FUTEX_WAIT_REQUEUE_PI_PRIVATE; }
  Three::futex(of.waiter, &mutex, operation, value);
  Three::futex(of.owner, &mutex, FUTEX_WAKE_PRIVATE, 1);
  of.wait(kOther);
  CHECK(of.by_owner() == 0);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_FOUND) == 0);
}

TEST_CASE("lock_owner: rwlocks, recursive and timed mutexes, and locks of the kernel") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  RwLock rwlock;
  rwlock.owner = 101;
  const void* word = &mutex;
  std::uint32_t operation = FUTEX_WAIT_PRIVATE;
  std::uint32_t value = 2;
  std::uint64_t timeout = 0;
  SECTION("a recursive mutex") { mutex.kind = mutex.count = 1; }
  SECTION("until some time") {
    operation = FUTEX_WAIT_BITSET_PRIVATE;
    timeout = 4096;
  }
  SECTION("a reader") {
    word = &rwlock.phase;
    value = 3;
  }
  SECTION("a writer") {
    word = &rwlock.writing;
    value = 3;
    rwlock.phase = 0;
    rwlock.writing = 3;
    rwlock.readers = 2;
  }
  SECTION("with priority inheritance") {
    mutex.lock = 101 | FUTEX_WAITERS;
    operation = FUTEX_LOCK_PI_PRIVATE;
  }
  SECTION("a robust one in the owner's list") {
    mutex.kind = 16;
    mutex.lock = value = 101 | FUTEX_WAITERS;
    operation = FUTEX_WAIT;
  }
  std::uint64_t head = address_of(&mutex.list[1]);
  of.owner.task.robust_list = &head;
  Three::futex(of.waiter, word, operation, value, timeout);
  Three::futex(of.owner, word, FUTEX_WAKE_PRIVATE, 1);
  CHECK(of.finds());
}

TEST_CASE("lock_owner: a robust one that is not in the list is not its owner's") {
  Three of;
  Mutex mutex;
  mutex.kind = 16;
  mutex.lock = 101 | FUTEX_WAITERS;
  mutex.owner = 101;
  std::uint64_t head = address_of(&head);
  of.owner.task.robust_list = &head;
  Three::futex(of.waiter, &mutex, FUTEX_WAIT, mutex.lock);
  Three::futex(of.owner, &mutex, FUTEX_WAKE, 1);
  of.wait(kOther);
  CHECK(of.by_owner() == 0);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_ELSEWHERE) == 1);
}

TEST_CASE("lock_owner: who lets go of a lock that was not its own, and never the owner") {
  Three of;
  Mutex imitation;  // the number of a worker beside another lock
  imitation.owner = 101;
  Three::futex(of.waiter, &imitation, FUTEX_WAIT_PRIVATE, 2);
  Three::futex(of.third, &imitation, FUTEX_WAKE_PRIVATE, 1);
  of.wait(kThird);
  CHECK(of.by_owner() == 0);
  CHECK(of.by_third() == 10 * kUs);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_ELSEWHERE) == 1);
  // Once the owner has let go itself, it is one, whoever does so at the next wait.
  Three::futex(of.owner, &imitation, FUTEX_WAKE_PRIVATE, 1);
  of.wait(kOther);
  CHECK(of.by_owner() == 10 * kUs);
  of.wait(kThird);
  CHECK(of.by_owner() == 20 * kUs);
  CHECK(of.by_third() == 10 * kUs);
}

TEST_CASE("lock_owner: a waker that does something else lets go of nothing") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  Machine::call(of.third, 62);  // kill(): a signal
  of.wait(kThird);
  CHECK(of.by_owner() == 10 * kUs);
}

TEST_CASE("lock_owner: nobody waits for a lock of its own, nor because of an earlier owner") {
  Three of;
  Mutex mutex;
  mutex.owner = 100;
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  Machine::call(of.third, 62);
  of.wait(kThird);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_FOUND) == 0);
  CHECK(of.by_third() == 10 * kUs);
  mutex.owner = 101;
  of.wait(kThird);
  CHECK(of.by_owner() == 10 * kUs);
  mutex.owner = 0;
  of.wait(kThird);
  CHECK(of.by_owner() == 10 * kUs);
  CHECK(of.by_third() == 20 * kUs);
}

TEST_CASE("lock_owner: an owner that is away has the labels that it left with") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  of.machine.change(kOther, nullptr, Leaving::kPreempted);
  of.machine.pass(50 * kUs);
  of.owner.in_memory = false;  // nobody reads them now
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  of.machine.change(kCpu, nullptr);
  of.machine.pass(10 * kUs);
  of.machine.wake(of.waiter, kThird);
  of.machine.change(kCpu, &of.waiter);
  CHECK(of.by_owner() == 10 * kUs);
}

TEST_CASE("lock_owner: an owner that is away without its labels is not known") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  of.owner.in_memory = false;
  of.machine.change(kOther, nullptr, Leaving::kPreempted);
  of.machine.pass(50 * kUs);
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  of.machine.change(kCpu, nullptr);
  of.machine.pass(10 * kUs);
  of.machine.wake(of.waiter, kThird);
  of.machine.change(kCpu, &of.waiter);
  CHECK(of.by_third() == 10 * kUs);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_UNREAD) == 1);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_FOUND) == 0);
}

TEST_CASE("lock_owner: an owner whose labels cannot be read is counted, and the waker has it") {
  Three of;
  Mutex mutex;
  mutex.owner = 101;
  of.owner.in_memory = false;
  Three::futex(of.waiter, &mutex, FUTEX_WAIT_PRIVATE, 2);
  of.wait(kThird);
  CHECK(of.by_third() == 10 * kUs);
  CHECK(of.machine.counted(LS_COUNT_OWNERS_UNREAD) == 1);
}
