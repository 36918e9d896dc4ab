// off_cpu.bpf.h over made-up switches: the length of each wait, what it counts as, and what is kept
// of threads that come, end, and use the number of another one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "bpf/load/wait_programs.h"
#include "native/waits/machine.h"
#include "sampling/sample_kind.h"
#include "support/catch.h"

using namespace labelscope::test;

namespace {

constexpr std::uint64_t kUs = 1000;
constexpr long kRead = 0;
constexpr unsigned kCpu = 0;  // that threads use here
constexpr unsigned kOther = 1;

using Wait = Machine::Wait;
using Sum = Machine::Sum;

// The thread waits for so long, until the other processor's thread wakes it, and then for a
// processor.
void wait(Machine& machine, FakeThread& thread, std::uint64_t waits, std::uint64_t queues = 0,
          Leaving how = Leaving::kWaits) {
  machine.change(kCpu, nullptr, how);
  machine.pass(waits);
  machine.wake(thread, kOther);
  machine.pass(queues);
  machine.change(kCpu, &thread);
}

// A process of one thread that runs, labelled "acme".
struct OneThread {
  explicit OneThread(bool blames = false) : machine(blames), thread(machine.process(100)) {
    machine.label(thread, "acme");
    machine.change(kCpu, &thread);
    machine.pass(5 * kUs);
  }
  Machine machine;
  FakeThread& thread;
};

}  // namespace

TEST_CASE("off_cpu: a wait ends with the wake-up, and what follows is that for a processor") {
  OneThread of;
  Machine::call(of.thread, kRead);
  wait(of.machine, of.thread, 300 * kUs, 20 * kUs);
  of.machine.pass(7 * kUs);
  wait(of.machine, of.thread, 40 * kUs, kUs);
  const std::map<Wait, Sum> expected{{{100, "acme", kRead, LS_PART_WAITING}, {340 * kUs, 2}},
                                     {{100, "acme", kRead, LS_PART_RUNNABLE}, {21 * kUs, 2}}};
  CHECK(of.machine.waits() == expected);
  const ls_wait_account account = of.machine.known(of.thread).account;
  CHECK(account.in[0].ns[LS_PART_WAITING] == 340 * kUs);
  CHECK(account.in[0].ns[LS_PART_RUNNABLE] == 21 * kUs);
  CHECK(account.in[0].ns[LS_PART_UNINTERRUPTIBLE] == 0);
  CHECK(account.in[0].waits == 2);
  CHECK(of.machine.known(of.thread).left_ns == 0);
  CHECK(of.machine.counted(LS_COUNT_WAKEUPS_NOT_SEEN) == 0);
}

TEST_CASE("off_cpu: each way to leave a processor is a kind and a reason of its own") {
  OneThread of;
  Machine::call(of.thread, kRead);
  task_struct& task = of.thread.task;
  const auto one = [&](std::uint64_t us, Leaving how) {
    wait(of.machine, of.thread, us * kUs, 0, how);
    of.machine.pass(kUs);
  };
  one(1, Leaving::kWaits);
  one(2, Leaving::kBlocked);
  one(4, Leaving::kStopped);
  one(8, Leaving::kFrozen);
  task.frozen = 1;  // by a kernel that shows it with the task alone
  one(16, Leaving::kWaits);
  // The parent of a vfork() has this mark, and is not frozen.
  one(32, Leaving::kBlocked);
  task.frozen = 0;
  Machine::call(of.thread, -1);
  one(64, Leaving::kBlocked);
  task.throttled = 1;
  one(128, Leaving::kPreempted);
  task.throttled = 0;
  task.dl.dl_throttled = 1;
  one(256, Leaving::kPreempted);
  task.dl.dl_throttled = 0;
  one(512, Leaving::kPreempted);
  Machine::call(of.thread, kRead);
  one(1024, Leaving::kYields);
  task.registers.cs = 0x23;
  one(2048, Leaving::kWaits);
  const std::map<Wait, Sum> expected{
      {{100, "acme", kRead, LS_PART_WAITING}, {kUs, 1}},
      {{100, "acme", kRead, LS_PART_UNINTERRUPTIBLE}, {34 * kUs, 2}},
      {{100, "acme", LS_CALL_STOPPED, LS_PART_WAITING}, {4 * kUs, 1}},
      {{100, "acme", LS_CALL_FROZEN, LS_PART_WAITING}, {24 * kUs, 2}},
      {{100, "acme", LS_CALL_FAULT, LS_PART_UNINTERRUPTIBLE}, {64 * kUs, 1}},
      {{100, "acme", LS_CALL_THROTTLED, LS_PART_RUNNABLE}, {384 * kUs, 2}},
      {{100, "acme", LS_CALL_NONE, LS_PART_RUNNABLE}, {512 * kUs, 1}},
      {{100, "acme", kRead, LS_PART_RUNNABLE}, {1024 * kUs, 1}},
      {{100, "acme", kRead | LS_CALL_32_BIT, LS_PART_WAITING}, {2048 * kUs, 1}}};
  CHECK(of.machine.waits() == expected);
}

TEST_CASE("off_cpu: a wait has the labels of its beginning, and each set is sent once") {
  OneThread of;
  FakeThread& second = of.machine.thread(100, 101);
  of.machine.label(second, "acme");
  wait(of.machine, of.thread, 10 * kUs);
  of.machine.label(of.thread, "globex");
  wait(of.machine, of.thread, 20 * kUs);
  of.machine.label(of.thread, Labels{});
  wait(of.machine, of.thread, 40 * kUs);
  of.machine.label(of.thread, "acme");
  wait(of.machine, of.thread, 80 * kUs);
  of.machine.change(kCpu, &second);
  of.machine.pass(kUs);
  wait(of.machine, second, 160 * kUs);
  CHECK(of.machine.waited("acme", LS_PART_WAITING) == 250 * kUs);
  CHECK(of.machine.waited("globex", LS_PART_WAITING) == 20 * kUs);
  CHECK(of.machine.waited("#" + std::to_string(LS_UNLABELLED), LS_PART_WAITING) == 40 * kUs);
  CHECK(of.machine.times_named("acme") == 1);
  CHECK(of.machine.times_named("globex") == 1);
}

TEST_CASE("off_cpu: equal labels of two processes are two sets") {
  Machine machine(false);
  for (const int pid : {100, 200}) {
    FakeThread& thread = machine.process(pid);
    machine.label(thread, "acme");
    machine.change(kCpu, &thread);
    machine.pass(kUs);
    wait(machine, thread, static_cast<std::uint64_t>(pid) * kUs);
  }
  CHECK(machine.times_named("acme") == 2);
  CHECK(machine.waits().size() == 2);
}

TEST_CASE("off_cpu: labels that are not in memory are read before the thread goes on") {
  OneThread of;
  of.thread.in_memory = false;
  of.thread.in_kernel = true;  // it waits three times before it comes back to user mode
  for (const std::uint64_t us : {10, 20, 40}) wait(of.machine, of.thread, us * kUs, us);
  CHECK(of.machine.waits().empty());
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waits()[{100, "acme", LS_CALL_FAULT, LS_PART_WAITING}] == Sum{70 * kUs, 3});
  CHECK(of.machine.waits()[{100, "acme", LS_CALL_FAULT, LS_PART_RUNNABLE}] == Sum{70, 3});
  CHECK(of.machine.known(of.thread).at_work == 0);
  const auto totals = entries_of<ls_wait_key, ls_wait_total>("wait_totals");
  for (const auto& [key, total] : totals)  // as their mean is long
    CHECK(total.log2[key.part == LS_PART_WAITING ? ls_wait_bucket(70 * kUs / 3) : 0] == 3);
  // What was late is added once.
  of.thread.in_memory = false;
  wait(of.machine, of.thread, 80 * kUs);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waits()[{100, "acme", LS_CALL_FAULT, LS_PART_WAITING}] == Sum{150 * kUs, 4});
  CHECK(of.machine.known(of.thread).account.in[0].waits == 4);
  CHECK(of.machine.known(of.thread).account.in[0].ns[LS_PART_WAITING] == 150 * kUs);
}

TEST_CASE("off_cpu: labels stay missing until the thread comes back, whoever brings the page in") {
  OneThread of;
  of.thread.in_memory = false;
  of.thread.in_kernel = true;
  wait(of.machine, of.thread, 10 * kUs);
  of.thread.in_memory = true;
  wait(of.machine, of.thread, 20 * kUs);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waits()[{100, "acme", LS_CALL_FAULT, LS_PART_WAITING}] == Sum{30 * kUs, 2});
}

TEST_CASE("off_cpu: the same bytes are other labels under another plan") {
  OneThread of;
  wait(of.machine, of.thread, 10 * kUs);
  auto process = value_of<ls_process>("processes", std::uint32_t{100});
  ++process.plan;
  put("processes", std::uint32_t{100}, process);
  wait(of.machine, of.thread, 10 * kUs);
  CHECK(of.machine.times_named("acme") == 2);
  CHECK(count_elements("wait_totals") == 2);
}

TEST_CASE("off_cpu: labels that cannot be read have that outcome, and are read again seldom") {
  OneThread of;
  of.thread.in_memory = false;
  of.thread.can_come = false;
  const std::string missing = "#" + std::to_string(LS_UNREADABLE_NOT_RESIDENT);
  for (int i = 0; i < 16; ++i) {
    wait(of.machine, of.thread, kUs);
    of.machine.return_to_user(kCpu);
    of.machine.pass(kUs);
  }
  CHECK(of.machine.waited(missing, LS_PART_WAITING) == 16 * kUs);
  CHECK(of.machine.known(of.thread).failed_reads == 16);
  wait(of.machine, of.thread, kUs);
  CHECK_FALSE(has_work(&of.thread.task));
  CHECK(of.machine.waited(missing, LS_PART_WAITING) == 17 * kUs);
  // A long wait is worth another try.
  of.thread.can_come = true;
  of.machine.pass(kUs);
  wait(of.machine, of.thread, 2000 * kUs);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waited("acme", LS_PART_WAITING) == 2000 * kUs);
  CHECK(of.machine.known(of.thread).failed_reads == 0);
}

TEST_CASE("off_cpu: the account of a thread goes with it, and so does all that is known of it") {
  OneThread of(true);
  wait(of.machine, of.thread, 10 * kUs, 3 * kUs);
  CHECK(count_elements("woken_threads") == 1);
  const std::uint64_t begun = of.machine.known(of.thread).account.begun_ns;
  of.machine.exit(kCpu);
  of.machine.pass(kUs);
  // It waits for its memory to be freed.
  wait(of.machine, of.thread, 50 * kUs, 0, Leaving::kBlocked);
  of.machine.pass(2 * kUs);
  const std::uint64_t ended = of.machine.now();
  const std::uint64_t ran = of.thread.task.se.sum_exec_runtime;
  of.machine.change(kCpu, nullptr, Leaving::kDead);
  const auto accounts = of.machine.sent<ls_thread_waits>(LS_RECORD_THREAD_WAITS);
  REQUIRE(accounts.size() == 1);
  CHECK(accounts[0].pid == 100);
  CHECK(accounts[0].tid == 100);
  CHECK(accounts[0].ended_ns == ended);
  CHECK(accounts[0].thread_ns == ran);
  CHECK(accounts[0].account.begun_ns == begun);
  CHECK(accounts[0].account.in[0].ns[LS_PART_WAITING] == 10 * kUs);
  CHECK(accounts[0].account.in[0].ns[LS_PART_UNINTERRUPTIBLE] == 50 * kUs);
  CHECK(accounts[0].account.in[0].ns[LS_PART_RUNNABLE] == 3 * kUs);
  CHECK(accounts[0].account.in[0].waits == 2);
  CHECK_FALSE(of.machine.knows(of.thread));
  CHECK(count_elements("woken_threads") == 0);
  const std::string vanished = "#" + std::to_string(LS_UNREADABLE_VANISHED);
  CHECK(of.machine.waited(vanished, LS_PART_UNINTERRUPTIBLE) == 50 * kUs);
  of.machine.free(of.thread);
  const auto ends = of.machine.sent<ls_thread_end>(LS_RECORD_THREAD_END);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].thread_ns == ran);
  for (const char* map : {"endings", "processes", "lives"}) CHECK(count_elements(map) == 0);
  CHECK(of.machine.sent<ls_process_event>(LS_RECORD_EXIT).size() == 1);
}

TEST_CASE("off_cpu: waits whose labels are missing when the thread exits are not lost") {
  OneThread of;
  of.thread.in_memory = false;
  of.thread.in_kernel = true;
  wait(of.machine, of.thread, 10 * kUs, 3 * kUs);
  of.machine.exit(kCpu);
  const std::string vanished = "#" + std::to_string(LS_UNREADABLE_VANISHED);
  CHECK(of.machine.waited(vanished) == 13 * kUs);
  // Its work comes too late.
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waited(vanished) == 13 * kUs);
  CHECK(of.machine.sent<ls_sample_head>(LS_RECORD_SAMPLE).empty());
}

TEST_CASE("off_cpu: a number that another process has now is not the thread that had it") {
  OneThread of;
  FakeThread& second = of.machine.thread(100, 150);
  of.machine.change(kCpu, &second);
  of.machine.pass(kUs);
  wait(of.machine, second, 10 * kUs);
  of.machine.change(kCpu, nullptr);
  // The end of 150 was not seen.
  FakeThread& other = of.machine.process(150);
  of.machine.label(other, "globex");
  of.machine.pass(1000 * kUs);
  of.machine.change(kCpu, &other);
  CHECK_FALSE(of.machine.knows(other));
  of.machine.pass(kUs);
  wait(of.machine, other, 5 * kUs);
  CHECK(of.machine.waited("globex", LS_PART_WAITING) == 5 * kUs);
  CHECK(of.machine.known(other).pid == 150);
  CHECK(of.machine.known(other).account.in[0].waits == 1);
}

TEST_CASE("off_cpu: a thread that takes the number of an exited one by an exec begins anew") {
  OneThread of;
  FakeThread& second = of.machine.thread(100, 101);
  of.machine.label(second, "globex");
  wait(of.machine, of.thread, 10 * kUs);
  of.machine.exit(kCpu);
  of.machine.change(kCpu, nullptr);  // it goes on to wait
  of.machine.pass(100 * kUs);
  second.task.pid = 100;
  of.machine.change(kOther, &second);
  of.machine.pass(kUs);
  of.machine.change(kOther, nullptr);
  CHECK(of.machine.known(second).exits == 0);
  CHECK(of.machine.known(second).account.in[0].waits == 0);
  CHECK(of.machine.known(second).account.begun_ns == of.machine.now());
}

TEST_CASE("off_cpu: a new thread waits for its first processor") {
  OneThread of;
  FakeThread& second = of.machine.thread(100, 101);
  of.machine.label(second, "globex");
  second.task.se.sum_exec_runtime = 77;
  of.machine.begin(second);
  of.machine.pass(30 * kUs);
  of.machine.change(kOther, &second);
  of.machine.return_to_user(kOther);
  CHECK(of.machine.waits()[{100, "globex", LS_CALL_NONE, LS_PART_RUNNABLE}] == Sum{30 * kUs, 1});
  CHECK(of.machine.known(second).account.begun_ran_ns == 77);
  CHECK(of.machine.known(second).account.begun_ns == of.machine.now() - 30 * kUs);
}

TEST_CASE("off_cpu: recipes that another process has overwritten are not used") {
  OneThread of;
  wait(of.machine, of.thread, 10 * kUs);
  auto process = value_of<ls_process>("processes", std::uint32_t{100});
  // The kernel has come so far with the copy, or is done.
  process.pid = 200;
  if (GENERATE(true, false)) process.pid_again = 200;
  ++process.plan;
  put("processes", std::uint32_t{100}, process);
  wait(of.machine, of.thread, 20 * kUs);
  CHECK(of.machine.waited("acme") == 10 * kUs);
  CHECK(of.machine.waited("#" + std::to_string(LS_UNREADABLE_NOT_RELOCATED)) == 20 * kUs);
}

TEST_CASE("off_cpu: a thread that announces its end after the last one has one, too") {
  OneThread of;
  FakeThread& second = of.machine.thread(100, 101);
  of.machine.change(kOther, &second);
  of.machine.pass(10 * kUs);
  --second.task.signal->live.counter;  // and then its processor is late
  of.machine.exit(kCpu);
  CHECK(count_elements("lives") == 0);
  ++second.task.signal->live.counter;
  of.machine.exit(kOther);
  CHECK(of.machine.sent<ls_process_event>(LS_RECORD_EXIT).size() == 1);
  of.machine.change(kOther, nullptr, Leaving::kDead);
  of.machine.free(second);
  const auto ends = of.machine.sent<ls_thread_end>(LS_RECORD_THREAD_END);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].tid == 101);
  CHECK(ends[0].thread_ns == 10 * kUs);
  // The number is another process's, which is not recorded.
  FakeThread& other = of.machine.process(100, false);
  of.machine.change(kOther, &other);
  of.machine.exit(kOther);
  of.machine.free(other);
  CHECK(of.machine.sent<ls_thread_end>(LS_RECORD_THREAD_END).empty());
}

TEST_CASE("off_cpu: ends of threads that are not sent are all kept, also those of one number") {
  OneThread of;
  fake_ring_is_full = true;
  for (int i = 0; i < 3; ++i) {
    FakeThread& thread = of.machine.thread(100, 101);
    of.machine.change(kOther, &thread);
    of.machine.pass(10 * kUs);
    of.machine.exit(kOther);
    of.machine.change(kOther, nullptr, Leaving::kDead);
    of.machine.pass(kUs);
    of.machine.free(thread);
  }
  std::uint64_t ns = 0;
  for (const auto& [key, ending] : entries_of<ls_end_key, ls_ending>("unsent_ends"))
    ns += ending.thread_ns;
  CHECK(ns == 30 * kUs);
  CHECK(of.machine.counted(LS_COUNT_LOST_THREAD_NS) == 0);
}

TEST_CASE("off_cpu: what is not recorded has no waits, and ceases to have some") {
  Machine machine(false);
  FakeThread& foreign = machine.process(300, false);
  FakeThread& own = machine.process(100);
  for (FakeThread* thread : {&foreign, &own}) {
    machine.label(*thread, "acme");
    machine.change(kCpu, thread);
    machine.pass(kUs);
    wait(machine, *thread, 10 * kUs);
  }
  CHECK_FALSE(machine.knows(foreign));
  CHECK(machine.waited("acme") == 10 * kUs);
  machine.forget(100);
  machine.pass(kUs);
  machine.change(kCpu, nullptr);
  CHECK_FALSE(machine.knows(own));
  machine.pass(kUs);
  machine.change(kCpu, &own);
  CHECK(machine.waited("acme") == 10 * kUs);
}

TEST_CASE("off_cpu: a process without publishers has no labels once its recipes are its program's") {
  OneThread of;
  constexpr std::uint32_t kPid = 100;
  auto process = value_of<ls_process>("processes", kPid);
  process.recipes.count = 0;
  put("processes", kPid, process);
  wait(of.machine, of.thread, 10 * kUs);
  CHECK(of.machine.waited("#" + std::to_string(LS_UNLABELLED)) == 10 * kUs);
  const auto not_yet = [&] {
    return of.machine.waited("#" + std::to_string(LS_UNREADABLE_NOT_RELOCATED));
  };
  // It has executed another program, which may have some.
  put("lives", kPid, process.life + 1);
  wait(of.machine, of.thread, 20 * kUs);
  CHECK(not_yet() == 20 * kUs);
  // The entry becomes another process's while it is read.
  put("lives", kPid, process.life);
  process.pid_again = kPid + 1;
  put("processes", kPid, process);
  wait(of.machine, of.thread, 40 * kUs);
  CHECK(not_yet() == 60 * kUs);
  CHECK(of.machine.waited("#" + std::to_string(LS_UNLABELLED)) == 10 * kUs);
}

TEST_CASE("off_cpu: a child counts from its exec on") {
  Machine machine(false);
  FakeThread& child = machine.process(100);
  auto process = value_of<ls_process>("processes", std::uint32_t{100});
  process.until_exec = 1;
  put("processes", std::uint32_t{100}, process);
  machine.change(kCpu, &child);
  machine.pass(kUs);
  wait(machine, child, 10 * kUs);
  CHECK_FALSE(machine.knows(child));
  put("lives", std::uint32_t{100}, std::uint32_t{1});
  machine.pass(kUs);
  wait(machine, child, 20 * kUs);
  CHECK(machine.knows(child));
  // Its recipes are still those of the program before.
  const std::string early = "#" + std::to_string(LS_UNREADABLE_NOT_RELOCATED);
  CHECK(machine.waited(early, LS_PART_WAITING) == 20 * kUs);
}

TEST_CASE("off_cpu: what finds no room is counted, and its time is not lost") {
  OneThread of;
  SECTION("threads") {
    set_map_size("off_cpu_threads", 1);
    wait(of.machine, of.thread, kUs);
    FakeThread& second = of.machine.thread(100, 101);
    of.machine.change(kCpu, &second);
    wait(of.machine, second, kUs);
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_ROOM) == 1);
    of.machine.begin(of.machine.thread(100, 102));
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_ROOM) == 2);
  }
  SECTION("totals") {
    set_map_size("wait_totals", 1);
    wait(of.machine, of.thread, 10 * kUs, 3 * kUs);
    of.machine.pass(kUs);
    wait(of.machine, of.thread, 20 * kUs, 5 * kUs);
    CHECK(of.machine.waited("acme", LS_PART_WAITING) == 30 * kUs);
    CHECK(of.machine.waited("acme", LS_PART_RUNNABLE) == 0);
    // The thread holds them, until others need the place.
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_TOTAL) == 0);
    CHECK(of.machine.known(of.thread).held.ns[LS_PART_RUNNABLE] == 8 * kUs);
    of.machine.label(of.thread, "globex");
    wait(of.machine, of.thread, 40 * kUs, 7 * kUs);
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_TOTAL) == 2);
    const auto made = object_of<ls_totals_made>(elements_of("totals_made")[0].second);
    CHECK(made.waits == 1);
    CHECK(made.lost_ns[LS_PART_RUNNABLE] == 8 * kUs);
    CHECK(made.lost_ns[LS_PART_WAITING] == 0);
    const ls_held_waits held = of.machine.known(of.thread).held;
    CHECK(held.ns[LS_PART_WAITING] == 40 * kUs);
    CHECK(held.ns[LS_PART_RUNNABLE] == 7 * kUs);
    CHECK(held.count[LS_PART_RUNNABLE] == 1);
  }
}

TEST_CASE("off_cpu: a thread whose labels stay loses nothing while others leave no room") {
  OneThread of;
  FakeThread& flood = of.machine.thread(100, 101);
  set_map_size("wait_totals", 2);
  const auto take_all = [] {
    for (const auto& [key, total] : entries_of<ls_wait_key, ls_wait_total>("wait_totals"))
      remove_element("wait_totals", bytes_of(key));
  };
  std::uint64_t waited = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      of.machine.label(flood, "flood " + std::to_string(10 * round + i));
      of.machine.change(kCpu, &flood);
      wait(of.machine, flood, kUs);
    }
    of.machine.change(kCpu, &of.thread);
    for (int i = 0; i < 3; ++i) wait(of.machine, of.thread, 10 * kUs);
    CHECK(of.machine.waited("acme", LS_PART_WAITING) == 0);
    take_all();
    wait(of.machine, of.thread, 10 * kUs);
    waited += of.machine.waited("acme", LS_PART_WAITING);
    take_all();
  }
  CHECK(waited > 3 * 40 * kUs);
  CHECK(waited == of.machine.known(of.thread).account.in[0].ns[LS_PART_WAITING]);
  CHECK(of.machine.known(of.thread).held.labels == 0);
  SECTION("and what finds no room until it ends is counted") {
    refuse_elements("wait_totals");
    of.machine.pass(kUs);
    wait(of.machine, of.thread, 10 * kUs);
    const std::uint64_t counted = of.machine.counted(LS_COUNT_WAITS_WITHOUT_TOTAL);
    of.machine.exit(kCpu);
    of.machine.change(kCpu, nullptr, Leaving::kDead);
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_TOTAL) == counted + 1);
  }
}

TEST_CASE("off_cpu: labels for which the ring has no room are sent the next time") {
  OneThread of;
  fake_ring_is_full = true;
  wait(of.machine, of.thread, 10 * kUs);
  CHECK(of.machine.counted(LS_COUNT_DROPPED_LABEL_SETS) == 1);
  CHECK(of.machine.waited("not sent") == 10 * kUs);
  fake_ring_is_full = false;
  wait(of.machine, of.thread, 20 * kUs);
  CHECK(of.machine.waited("acme") == 30 * kUs);
  CHECK(of.machine.times_named("acme") == 1);
}

TEST_CASE("off_cpu: a number that the kernel has forgotten is sent again") {
  OneThread of;
  set_map_size("label_numbers", 1);
  FakeThread& second = of.machine.thread(100, 101);
  wait(of.machine, of.thread, 10 * kUs);
  for (const char* value : {"globex", "initech"}) {
    of.machine.label(second, value);
    of.machine.change(kCpu, &second);
    wait(of.machine, second, kUs);
  }
  CHECK(of.machine.times_named("acme") == 1);
  of.machine.label(second, "acme");
  of.machine.change(kCpu, &second);
  wait(of.machine, second, 10 * kUs);
  CHECK(of.machine.times_named("acme") == 2);
}

TEST_CASE("off_cpu: and so is one that a thread remembers, at the latest some milliseconds after") {
  OneThread of;
  set_map_size("label_numbers", 1);
  FakeThread& second = of.machine.thread(100, 101);
  const auto stays = [&] {
    wait(of.machine, of.thread, 10 * kUs);
    of.machine.pass(kUs);
  };
  for (int i = 0; i < 3; ++i) stays();
  CHECK(of.machine.times_named("acme") == 1);
  of.machine.label(second, "globex");
  of.machine.change(kCpu, &second);
  wait(of.machine, second, kUs);
  of.machine.pass(10'000 * kUs);
  of.machine.change(kCpu, &of.thread);
  for (int i = 0; i < 3; ++i) stays();
  CHECK(of.machine.times_named("acme") == 2);
  CHECK(of.machine.times_named("globex") == 1);
}

TEST_CASE("off_cpu: totals of the new generation are others") {
  OneThread of;
  wait(of.machine, of.thread, 10 * kUs);
  put("wait_window", std::uint32_t{0}, std::uint64_t{1});
  wait(of.machine, of.thread, 20 * kUs);
  const auto totals = entries_of<ls_wait_key, ls_wait_total>("wait_totals");
  REQUIRE(totals.size() == 2);
  for (const auto& [key, total] : totals) CHECK(total.ns == (key.generation == 0 ? 10 : 20) * kUs);
}

TEST_CASE("off_cpu: a wait counts in the bucket of its length") {
  OneThread of;
  const std::vector<std::pair<std::uint64_t, unsigned>> lengths{
      {1, 0}, {1023, 0}, {1024, 1}, {2047, 1}, {2048, 2}, {1 << 20, 11}, {(1 << 21) - 1, 11}};
  std::vector<std::uint64_t> expected(LS_WAIT_BUCKETS);
  for (const auto& [ns, bucket] : lengths) {
    wait(of.machine, of.thread, ns);
    ++expected[bucket];
  }
  const auto totals = entries_of<ls_wait_key, ls_wait_total>("wait_totals");
  REQUIRE(totals.size() == 1);
  for (unsigned i = 0; i < LS_WAIT_BUCKETS; ++i) CHECK(totals[0].second.log2[i] == expected[i]);
  for (int bit = LS_WAIT_SHORTEST_LOG2 + 1; bit < 63; ++bit) {
    const std::uint64_t ns = std::uint64_t{1} << bit;
    const unsigned in = std::min(bit - LS_WAIT_SHORTEST_LOG2, LS_WAIT_BUCKETS - 1);
    CHECK(ls_wait_bucket(ns) == in);
    if (bit - LS_WAIT_SHORTEST_LOG2 < LS_WAIT_BUCKETS) CHECK(ls_wait_bucket(ns - 1) == in - 1);
  }
}

// Threads live while the programs are attached one after the other. One whose end was seen by no
// program must not wait on. This counts through how many are attached at each event of its life.
TEST_CASE("off_cpu: a thread that ends while programs are attached waits no longer") {
  constexpr std::size_t kPrograms = std::size(labelscope::kWaitPrograms);
  std::vector<std::size_t> attached(6);
  const auto live = [&] {
    OneThread of;
    FakeThread& brief = of.machine.thread(100, 101);
    std::size_t event = 0;
    const auto next = [&] {
      of.machine.pass(kUs);
      of.machine.attach(attached[event++]);
    };
    next();
    of.machine.begin(brief);
    next();
    of.machine.change(kOther, &brief);
    next();
    of.machine.change(kOther, nullptr);
    next();
    of.machine.wake(brief, kCpu);
    of.machine.pass(kUs);
    of.machine.change(kOther, &brief);
    next();
    of.machine.exit(kOther);
    next();
    of.machine.change(kOther, nullptr, Leaving::kDead);
    of.machine.free(brief);
    std::string order;
    for (const std::size_t programs : attached) order += std::to_string(programs) + " ";
    INFO("attached programs: " << order);
    CHECK(of.machine.known(brief).left_ns == 0);
  };
  for (;;) {
    live();
    std::size_t place = attached.size();
    while (place > 0 && attached[place - 1] == kPrograms) --place;
    if (place == 0) break;
    const std::size_t more = attached[place - 1] + 1;
    std::fill(attached.begin() + static_cast<std::ptrdiff_t>(place) - 1, attached.end(), more);
  }
}
