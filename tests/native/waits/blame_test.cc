// blame.bpf.h over made-up switches: who is to blame for a wait, and for the time in which a thread
// waits for a processor.
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
constexpr std::uint32_t kHard = 0x00010000;
constexpr std::uint32_t kSoft = 0x00000100;

using Wait = Machine::Wait;
using Sum = Machine::Sum;

// "victim" runs on the first processor and "hog", of the same process, on the second one.
struct Two {
  Two() : victim(machine.process(100)), hog(machine.thread(100, 101)) {
    machine.label(victim, "victim");
    machine.label(hog, "hog");
    machine.change(kCpu, &victim);
    machine.change(kOther, &hog);
    machine.pass(5 * kUs);
  }
  // The victim waits; what `wake` does ends that, and then it waits for its processor.
  template <class Wake>
  void wait(std::uint64_t waits, std::uint64_t queues, const Wake& wake) {
    machine.change(kCpu, nullptr);
    machine.pass(waits);
    wake();
    machine.pass(queues);
    machine.change(kCpu, &victim);
  }
  void wait(std::uint64_t waits, std::uint64_t queues = 0) {
    wait(waits, queues, [&] { machine.wake(victim, kOther); });
  }
  Machine machine;
  FakeThread& victim;
  FakeThread& hog;
};

}  // namespace

TEST_CASE("blame: a thread that wakes another one, with the labels that it has then") {
  Two of;
  Machine::call(of.victim, 7);
  of.wait(30 * kUs);
  of.machine.label(of.hog, "other");
  of.machine.pass(kUs);
  of.wait(50 * kUs);
  of.machine.label(of.hog, Labels{});
  of.wait(70 * kUs);
  const Wait wait{100, "victim", 7, LS_PART_WAITING};
  const std::map<Machine::Blame, Sum> expected{
      {{wait, "thread 100 hog"}, {30 * kUs, 1}},
      {{wait, "thread 100 other"}, {50 * kUs, 1}},
      {{wait, "thread 100 #" + std::to_string(LS_UNLABELLED)}, {70 * kUs, 1}}};
  CHECK(of.machine.blame() == expected);
}

TEST_CASE("blame: an interrupt is none of the thread that it has interrupted") {
  Two of;
  const auto wake = [&](std::uint32_t interrupt, bool by_timer) {
    return [&of, interrupt, by_timer] { of.machine.wake(of.victim, kOther, interrupt, by_timer); };
  };
  of.wait(1 * kUs, 0, wake(kHard, true));
  of.wait(2 * kUs, 0, wake(kHard, false));
  of.wait(4 * kUs, 0, wake(kSoft, true));
  of.wait(8 * kUs, 0, wake(kSoft, false));
  // A soft interrupt is interrupted while it runs the function of a timer: the hard one runs none.
  of.machine.change(kCpu, nullptr);
  of.machine.pass(16 * kUs);
  of.machine.interrupt(kOther, kSoft, [] { on_coarse_timer(nullptr); });
  of.machine.wake(of.victim, kOther, kSoft | kHard);
  of.machine.interrupt(kOther, kSoft, [] { on_coarse_timer_end(nullptr); });
  of.machine.change(kCpu, &of.victim);
  of.wait(32 * kUs, 0, wake(kSoft, false));
  // Soft interrupts that are merely turned off are none.
  of.wait(64 * kUs, 0, wake(0x200, false));
  CHECK(of.machine.blamed("victim", "timer") == 5 * kUs);
  CHECK(of.machine.blamed("victim", "interrupt") == (2 + 8 + 16 + 32) * kUs);
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 64 * kUs);
}

TEST_CASE("blame: the kernel's own threads, and processes that are not recorded") {
  Two of;
  FakeThread& foreign = of.machine.process(300, false);
  of.machine.label(foreign, "secret");
  of.machine.change(kOther, &foreign);
  of.wait(10 * kUs);
  foreign.task.flags |= 0x00200000;
  of.wait(20 * kUs);
  foreign.task.flags = 0;
  of.machine.change(kOther, nullptr);
  of.wait(40 * kUs);  // by the idle task
  CHECK(of.machine.blamed("victim", "process name300") == 10 * kUs);
  CHECK(of.machine.blamed("victim", "kernel") == 60 * kUs);
}

TEST_CASE("blame: for its processor a thread waits because of those that have it") {
  Two of;
  FakeThread& foreign = of.machine.process(300, false);
  of.machine.change(kOther, nullptr);
  of.machine.change(kCpu, &of.hog);  // the victim waits for the hog
  of.machine.pass(10 * kUs);
  of.machine.wake(of.victim, kOther);
  of.machine.pass(30 * kUs);
  of.machine.label(of.hog, "hog later");
  of.machine.pass(kUs);
  of.machine.change(kCpu, &foreign, Leaving::kPreempted);
  of.machine.pass(7 * kUs);
  of.machine.change(kCpu, nullptr);
  of.machine.pass(2 * kUs);
  of.machine.change(kCpu, &of.victim);
  const Wait queue{100, "victim", LS_CALL_FAULT, LS_PART_RUNNABLE};
  const auto blame = of.machine.blame();
  const auto by = [&](const std::string& who) {
    const auto found = blame.find({queue, who});
    return found == blame.end() ? Sum{} : found->second;
  };
  // A turn has the labels of its end, and only what of it lies in the wait.
  CHECK(by("thread 100 hog later") == Sum{31 * kUs, 1});
  CHECK(by("process name300") == Sum{7 * kUs, 1});
  CHECK(by("kernel") == Sum{2 * kUs, 1});
  CHECK(by("thread 100 hog") == Sum{});
  CHECK(of.machine.waited("victim", LS_PART_RUNNABLE) == 40 * kUs);
}

TEST_CASE("blame: turns that are no longer remembered were like the others") {
  Two of;
  FakeThread& third = of.machine.thread(100, 102);
  of.machine.label(third, "third");
  of.machine.change(kOther, nullptr);
  of.machine.change(kCpu, &third, Leaving::kPreempted);
  const int rounds = GENERATE(10, 63, 64, 65, 200);
  for (int i = 0; i < rounds; ++i) {
    of.machine.pass(3 * kUs);
    of.machine.change(kCpu, &of.hog, Leaving::kPreempted);
    of.machine.pass(kUs);
    of.machine.change(kCpu, &third, Leaving::kPreempted);
  }
  of.machine.change(kCpu, &of.victim);
  const std::uint64_t queued = of.machine.waited("victim", LS_PART_RUNNABLE);
  const std::uint64_t by_third = of.machine.blamed("victim", "thread 100 third");
  const std::uint64_t by_hog = of.machine.blamed("victim", "thread 100 hog");
  CHECK(queued == static_cast<std::uint64_t>(rounds) * 4 * kUs);
  CHECK(by_third + by_hog <= queued);
  CHECK(by_third + by_hog + 200 >= queued);
  CHECK(by_third >= queued / 100 * 73);
  CHECK(by_third <= queued / 100 * 77);
}

TEST_CASE("blame: nobody has let the quota of a thread run out but itself") {
  Two of;
  of.victim.task.throttled = 1;
  of.machine.change(kCpu, &of.hog, Leaving::kPreempted);
  of.victim.task.throttled = 0;
  of.machine.pass(40 * kUs);
  of.machine.change(kCpu, &of.victim);
  CHECK(of.machine.blamed("victim", "quota") == 40 * kUs);
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 0);
}

TEST_CASE("blame: a waker is that of one wait") {
  Two of;
  of.wait(10 * kUs);
  // The wake-up of this one is not seen.
  of.wait(20 * kUs, 0, [] {});
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 10 * kUs);
  // A thread may be woken before it has left its processor.
  const __u64 woken[] = {reinterpret_cast<__u64>(&of.victim.task)};
  of.machine.interrupt(kOther, 0, [&] { on_waking(woken); });
  of.wait(40 * kUs, 0, [] {});
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 50 * kUs);
}

TEST_CASE("blame: who ends has worked for the labels of its last wait") {
  Two of;
  FakeThread& child = of.machine.process(200);
  of.machine.label(child, "child");
  of.machine.change(kOther, &child);
  of.machine.pass(kUs);
  of.machine.change(kOther, nullptr);
  of.machine.wake(child, kCpu);
  of.machine.change(kOther, &child);
  of.machine.label(child, Labels{});
  of.machine.change(kOther, nullptr, Leaving::kPreempted);
  of.machine.change(kOther, &child);
  of.machine.exit(kOther);
  of.wait(30 * kUs);
  CHECK(of.machine.blamed("victim", "thread 200 child") == 30 * kUs);
}

TEST_CASE("blame: who ends inside of a pid namespace is known until it has left") {
  Two of;
  config.pid_namespace = 5;
  of.machine.change(kOther, nullptr);
  of.machine.pass(kUs);
  of.machine.wake(of.hog, kCpu);
  of.machine.change(kOther, &of.hog);
  of.machine.label(of.hog, Labels{});  // its library clears them
  of.machine.exit(kOther);
  of.wait(30 * kUs);
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 30 * kUs);
  const auto accounts = of.machine.sent<ls_thread_waits>(LS_RECORD_THREAD_WAITS);
  REQUIRE(accounts.size() == 1);
  CHECK(accounts[0].tid == 101);
  CHECK(of.machine.knows(of.hog));
  // It waits once more, for which there is no account any more, and then it has no number.
  of.machine.change(kOther, nullptr, Leaving::kBlocked);
  of.machine.pass(kUs);
  of.machine.wake(of.hog, kCpu);
  of.machine.change(kOther, &of.hog);
  of.hog.space.ns.inum = 0;
  SECTION("it leaves") {
    of.machine.change(kOther, nullptr, Leaving::kDead);
    CHECK_FALSE(of.machine.knows(of.hog));
    CHECK(count_elements("woken_threads") == 1);  // the victim's
  }
  SECTION("another thread has its number before") {
    FakeThread& other = of.machine.thread(100, 101);
    of.machine.begin(other);
    of.machine.change(kOther, nullptr, Leaving::kDead);
    CHECK(of.machine.knows(other));
  }
  CHECK(of.machine.sent<ls_thread_waits>(LS_RECORD_THREAD_WAITS).empty());
}

TEST_CASE("blame: a chain of waits, each because of the next thread") {
  Two of;
  FakeThread& first = of.machine.thread(100, 102);
  of.machine.label(first, "first");
  of.machine.change(2, &first);
  of.machine.pass(kUs);
  of.machine.change(2, nullptr);  // waits for the victim
  of.machine.pass(10 * kUs);
  of.machine.change(kCpu, nullptr);  // waits for the hog
  of.machine.pass(20 * kUs);
  of.machine.wake(of.victim, kOther);
  of.machine.change(kCpu, &of.victim);
  of.machine.pass(5 * kUs);
  of.machine.wake(first, kCpu);
  of.machine.change(2, &first);
  const std::map<Machine::Blame, Sum> expected{
      {{{100, "first", LS_CALL_FAULT, LS_PART_WAITING}, "thread 100 victim"}, {35 * kUs, 1}},
      {{{100, "victim", LS_CALL_FAULT, LS_PART_WAITING}, "thread 100 hog"}, {20 * kUs, 1}}};
  CHECK(of.machine.blame() == expected);
}

TEST_CASE("blame: waits whose labels come late are blamed on who it was") {
  Two of;
  of.victim.in_memory = false;
  of.victim.in_kernel = true;
  of.wait(10 * kUs);
  of.wait(20 * kUs, 0, [&] { of.machine.wake(of.victim, kOther, kHard, true); });
  CHECK(of.machine.blamed("late", "thread 100 hog") == 10 * kUs);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 10 * kUs);
  CHECK(of.machine.blamed("victim", "timer") == 20 * kUs);
  // The next time they are missing they may be others.
  of.machine.label(of.victim, "changed");
  of.victim.in_memory = false;
  of.wait(40 * kUs);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.blamed("changed", "thread 100 hog") == 40 * kUs);
  CHECK(of.machine.blamed("victim", "thread 100 hog") == 10 * kUs);
}

TEST_CASE("blame: labels that come late take no turn away from a wait for a processor") {
  Two of;
  of.victim.in_memory = false;
  of.victim.in_kernel = true;
  std::vector<FakeThread*> others;
  for (int i = 0; i < 5; ++i) {
    others.push_back(&of.machine.thread(100, 110 + i));
    of.machine.label(*others.back(), "other " + std::to_string(i));
  }
  std::uint64_t expected[5] = {};
  for (int round = 0; round < 3; ++round) {
    // It loses its processor to each of the others in turn.
    of.machine.change(kCpu, others[0], Leaving::kPreempted);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const std::uint64_t us = static_cast<std::uint64_t>(round) + i + 1;
      of.machine.pass(us * kUs);
      expected[i] += us * kUs;
      FakeThread* next = i + 1 < others.size() ? others[i + 1] : &of.victim;
      of.machine.change(kCpu, next, Leaving::kPreempted);
    }
    of.machine.pass(kUs);
  }
  of.machine.return_to_user(kCpu);
  for (std::size_t i = 0; i < others.size(); ++i)
    CHECK(of.machine.blamed("victim", "thread 100 other " + std::to_string(i)) == expected[i]);
}

TEST_CASE("blame: waits whose labels come late have one reason in totals and in blame") {
  Two of;
  of.victim.in_memory = false;
  of.victim.in_kernel = true;
  Machine::call(of.victim, 7);
  of.wait(10 * kUs, kUs);
  // On its way to user mode it is stopped, and then throttled.
  of.machine.change(kCpu, nullptr, Leaving::kStopped);
  of.machine.pass(20 * kUs);
  of.machine.wake(of.victim, kOther);
  of.machine.change(kCpu, &of.victim);
  of.victim.task.throttled = 1;
  of.machine.change(kCpu, nullptr, Leaving::kPreempted);
  of.victim.task.throttled = 0;
  of.machine.pass(40 * kUs);
  of.machine.change(kCpu, &of.victim);
  of.machine.return_to_user(kCpu);
  const Wait waits{100, "victim", 7, LS_PART_WAITING};
  const Wait queues{100, "victim", 7, LS_PART_RUNNABLE};
  const std::map<Wait, Sum> expected{{waits, {30 * kUs, 2}}, {queues, {41 * kUs, 2}}};
  CHECK(of.machine.waits() == expected);
  std::map<Wait, std::uint64_t> blamed;
  for (const auto& [key, sum] : of.machine.blame()) blamed[key.first] += sum.ns;
  CHECK(blamed == std::map<Wait, std::uint64_t>{{waits, 30 * kUs}, {queues, 41 * kUs}});
  // The next time they are missing the reason is another one.
  of.victim.in_memory = false;
  of.machine.change(kCpu, nullptr, Leaving::kStopped);
  of.machine.pass(20 * kUs);
  of.machine.wake(of.victim, kOther);
  of.machine.change(kCpu, &of.victim);
  of.machine.return_to_user(kCpu);
  CHECK(of.machine.waits()[{100, "victim", LS_CALL_STOPPED, LS_PART_WAITING}] == Sum{20 * kUs, 1});
}

TEST_CASE("blame: a new thread has nothing of the one whose number it has got") {
  Two of;
  of.victim.in_memory = false;
  of.victim.in_kernel = true;
  of.wait(10 * kUs);
  // The end of the victim was not seen.
  of.machine.change(kCpu, nullptr);
  const bool is_seen = GENERATE(true, false);
  const int pid = is_seen ? GENERATE(100, 200) : 200;
  FakeThread& other = pid == 100 ? of.machine.thread(100, 100) : of.machine.process(200);
  other.task.pid = 100;
  of.machine.label(other, "other");
  other.in_memory = false;
  if (is_seen) {
    of.machine.begin(other);
    of.machine.pass(kUs);
  }
  of.machine.change(kCpu, &other);
  of.machine.pass(kUs);
  of.machine.change(kCpu, nullptr);
  of.machine.pass(20 * kUs);
  of.machine.wake(other, kOther);
  of.machine.change(kCpu, &other);
  CHECK(of.machine.blamed("other", "thread 100 hog") == 20 * kUs);
  CHECK(of.machine.blamed("late", "thread 100 hog") == 10 * kUs);
}

TEST_CASE("blame: a culprit whose labels are missing is not resident, and the thread goes on") {
  Two of;
  of.hog.in_memory = false;
  of.wait(10 * kUs);
  const std::string missing = "thread 100 #" + std::to_string(LS_UNREADABLE_NOT_RESIDENT);
  CHECK(of.machine.blamed("victim", missing) == 10 * kUs);
}

TEST_CASE("blame: what finds no room is counted") {
  Two of;
  SECTION("totals") {
    set_map_size("blame_totals", 1);
    of.wait(10 * kUs);
    of.machine.label(of.hog, "other");
    of.wait(20 * kUs);
    CHECK(of.machine.counted(LS_COUNT_BLAME_WITHOUT_ROOM) == 1);
    CHECK(of.machine.blame().size() == 1);
    const auto made = elements_of("totals_made");
    std::uint64_t blame = 0;
    for (const auto& [key, value] : made) blame += object_of<ls_totals_made>(value).blame;
    CHECK(blame == 1);
  }
  SECTION("threads that are woken") {
    set_map_size("woken_threads", 1);
    of.wait(10 * kUs);
    of.machine.change(kOther, nullptr);
    of.machine.pass(kUs);
    of.machine.wake(of.hog, kCpu);
    of.machine.change(kOther, &of.hog);
    CHECK(of.machine.counted(LS_COUNT_BLAME_WITHOUT_ROOM) == 1);
  }
}

TEST_CASE("blame: totals of the new generation are others") {
  Two of;
  of.wait(10 * kUs);
  put("wait_window", std::uint32_t{0}, std::uint64_t{1});
  of.wait(20 * kUs);
  const auto totals = entries_of<ls_blame_key, ls_blame_total>("blame_totals");
  REQUIRE(totals.size() == 2);
  for (const auto& [key, total] : totals)
    CHECK(total.ns == (key.wait.generation == 0 ? 10 : 20) * kUs);
}
