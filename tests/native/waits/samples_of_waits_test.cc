// off_cpu.bpf.h: which waits are drawn, what becomes of what was drawn, and switches that were not
// seen.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "native/waits/machine.h"
#include "sampling/sample_kind.h"
#include "support/catch.h"

using namespace labelscope::test;

namespace {

constexpr std::uint64_t kUs = 1000;
constexpr unsigned kCpu = 0;
constexpr unsigned kOther = 1;

void set_unit(std::uint64_t ns) { put("off_cpu_unit", std::uint32_t{0}, ns); }

struct OneThread {
  explicit OneThread(bool blames = false) : machine(blames), thread(machine.process(100)) {
    machine.label(thread, "acme");
    machine.change(kCpu, &thread);
    machine.pass(5 * kUs);
  }
  void wait(std::uint64_t waits, std::uint64_t queues = 0, Leaving how = Leaving::kWaits) {
    machine.change(kCpu, nullptr, how);
    machine.pass(waits);
    machine.wake(thread, kOther);
    machine.pass(queues);
    machine.change(kCpu, &thread);
  }
  std::vector<ls_sample_head> samples() {
    return machine.sent<ls_sample_head>(LS_RECORD_SAMPLE);
  }
  Machine machine;
  FakeThread& thread;
};

}  // namespace

TEST_CASE("samples of waits: a wait of a unit or more is one sample of its length") {
  OneThread of;
  set_unit(10 * kUs);
  Machine::call(of.thread, 7);
  of.wait(15 * kUs, 12 * kUs, Leaving::kBlocked);
  const auto samples = of.samples();
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].kind == LS_UNINTERRUPTIBLE);
  CHECK(samples[0].weight_ns == 15 * kUs);
  CHECK(samples[1].kind == LS_RUNNABLE);
  CHECK(samples[1].weight_ns == 12 * kUs);
  for (const ls_sample_head& sample : samples) {
    CHECK(sample.pid == 100);
    CHECK(sample.tid == 100);
    CHECK(sample.system_call == 7);
    CHECK(sample.thread_ns == of.thread.task.se.sum_exec_runtime);
  }
  CHECK(of.machine.counted(LS_COUNT_TAKEN) == 2);
  CHECK(of.machine.counted(LS_LABELLED) == 2);
  CHECK(of.machine.known(of.thread).drawn_ns[LS_PART_UNINTERRUPTIBLE] == 0);
  CHECK(of.machine.known(of.thread).at_work == 0);
}

TEST_CASE("samples of waits: short ones are drawn, and weigh as much as they are long together") {
  OneThread of;
  set_unit(100 * kUs);
  std::uint64_t whole = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t ns = 1 + i % 20 * kUs;
    of.wait(ns);
    whole += ns;
  }
  std::uint64_t weight = 0;
  for (const ls_sample_head& sample : of.samples()) {
    CHECK(sample.weight_ns == 100 * kUs);
    CHECK(sample.kind == LS_WAITING);
    weight += sample.weight_ns;
  }
  CHECK(weight > whole / 100 * 90);
  CHECK(weight < whole / 100 * 110);
  CHECK(of.machine.waited("acme") == whole);
}

TEST_CASE("samples of waits: what was drawn and cannot be sent is counted once, and then gone") {
  OneThread of;
  set_unit(10 * kUs);
  const auto drawn = [&] { return of.machine.known(of.thread).drawn_ns[LS_PART_WAITING]; };
  SECTION("the thread ends") {
    of.thread.in_kernel = true;
    of.wait(50 * kUs);
    CHECK(drawn() == 50 * kUs);
    of.machine.exit(kCpu);
    CHECK(drawn() == 0);
    CHECK(of.machine.counted(LS_COUNT_WAITS_OF_ENDED) == 1);
  }
  SECTION("the kernel refuses") {
    fake_refuses_work = true;
    of.wait(50 * kUs);
    CHECK(drawn() == 0);
    CHECK(of.machine.known(of.thread).at_work == 0);
    CHECK(of.machine.counted(LS_COUNT_WAITS_REFUSED) == 1);
    fake_refuses_work = false;
    of.wait(60 * kUs);
    CHECK(of.samples().size() == 1);
  }
  SECTION("there is no room to read") {
    std::uint32_t index = 0;
    while (fake_pop({"free_scratches", 0, 0, sizeof index, 1}, &index) == 0) continue;
    of.wait(50 * kUs);
    CHECK(drawn() == 0);
    CHECK(of.machine.counted(LS_COUNT_WAITS_WITHOUT_SCRATCH) == 1);
  }
  SECTION("the ring is full") {
    fake_ring_is_full = true;
    of.wait(50 * kUs);
    CHECK(drawn() == 0);
    CHECK(of.machine.counted(LS_COUNT_DROPPED_SAMPLE) == 1);
  }
  CHECK(of.machine.known(of.thread).account.in[0].ns[LS_PART_WAITING] >= 50 * kUs);
}

TEST_CASE("samples of waits: the room to read in is given back") {
  OneThread of;
  set_unit(10 * kUs);
  for (int i = 0; i < 3 * LS_RETRY_SCRATCHES; ++i) of.wait(50 * kUs);
  CHECK(of.samples().size() == 3 * LS_RETRY_SCRATCHES);
}

TEST_CASE("samples of waits: waits on the way to user mode are one sample together") {
  OneThread of;
  set_unit(10 * kUs);
  of.thread.in_kernel = true;
  of.wait(50 * kUs);
  of.wait(70 * kUs);
  of.machine.return_to_user(kCpu);
  const auto samples = of.samples();
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].weight_ns == 120 * kUs);
}

TEST_CASE("switches that were not seen: CPU time says how long the thread was away") {
  OneThread of;
  of.wait(10 * kUs);
  const std::string vanished = "#" + std::to_string(LS_UNREADABLE_VANISHED);
  SECTION("it left a processor that it was not seen to get") {
    of.machine.change(kCpu, nullptr);
    of.machine.pass(20 * kUs);
    of.machine.wake(of.thread, kOther);
    of.machine.pass(30 * kUs);
    of.thread.task.se.sum_exec_runtime += 4 * kUs;  // it has run meanwhile
    of.machine.change(kOther, &of.thread);
    // As if that had not been seen: it is still away, since the same time.
    auto seen = of.machine.known(of.thread);
    seen.left_ns = of.machine.now() - 50 * kUs;
    seen.woken_ns = of.machine.now() - 30 * kUs;
    seen.left_ran_ns = of.thread.task.se.sum_exec_runtime - 4 * kUs;
    const std::uint64_t waits = seen.account.in[0].waits;
    const std::uint64_t waited = of.machine.waited("acme", LS_PART_WAITING);
    const std::uint64_t queued = of.machine.waited("acme", LS_PART_RUNNABLE);
    put("off_cpu_threads", std::uint32_t{100}, seen);
    of.machine.change(kOther, nullptr);
    CHECK(of.machine.counted(LS_COUNT_SWITCHES_NOT_SEEN) == 1);
    CHECK(of.machine.known(of.thread).account.in[0].waits == waits + 1);
    CHECK(of.machine.waited("acme", LS_PART_WAITING) - waited == 20 * kUs);
    CHECK(of.machine.waited("acme", LS_PART_RUNNABLE) - queued == 26 * kUs);
  }
  SECTION("it gets a processor, and was not seen to leave the last one") {
    of.machine.pass(kUs);  // it runs
    fake_machine.now_ns += 90 * kUs;
    of.machine.change(kOther, &of.thread);
    CHECK(of.machine.counted(LS_COUNT_SWITCHES_NOT_SEEN) == 1);
    CHECK(of.machine.waited(vanished, LS_PART_RUNNABLE) == 90 * kUs);
    CHECK(of.machine.known(of.thread).account.in[0].ns[LS_PART_RUNNABLE] == 90 * kUs);
  }
  SECTION("it has run all the time") {
    of.machine.pass(kUs);
    of.machine.change(kOther, &of.thread);
    CHECK(of.machine.counted(LS_COUNT_SWITCHES_NOT_SEEN) == 0);
    CHECK(of.machine.waited(vanished) == 0);
  }
}

TEST_CASE("switches that were not seen: without a wake-up a thread has waited until it came") {
  OneThread of;
  of.machine.change(kCpu, nullptr);
  of.machine.pass(20 * kUs);
  of.machine.change(kCpu, &of.thread);
  CHECK(of.machine.counted(LS_COUNT_WAKEUPS_NOT_SEEN) == 1);
  CHECK(of.machine.waited("acme", LS_PART_WAITING) == 20 * kUs);
  // The wake-up of a wait before is not that of this one.
  of.machine.wake(of.thread, kOther);
  of.machine.change(kCpu, nullptr);
  of.machine.pass(20 * kUs);
  of.machine.change(kCpu, &of.thread);
  CHECK(of.machine.counted(LS_COUNT_WAKEUPS_NOT_SEEN) == 2);
  CHECK(of.machine.waited("acme", LS_PART_WAITING) == 40 * kUs);
  // Only the first of several wake-ups ends a wait.
  of.machine.change(kCpu, nullptr);
  of.machine.pass(10 * kUs);
  of.machine.wake(of.thread, kOther);
  of.machine.pass(3 * kUs);
  of.machine.wake(of.thread, kOther);
  of.machine.pass(3 * kUs);
  of.machine.change(kCpu, &of.thread);
  CHECK(of.machine.waited("acme", LS_PART_WAITING) == 50 * kUs);
  CHECK(of.machine.waited("acme", LS_PART_RUNNABLE) == 6 * kUs);
}

// Reading memory may make a thread wait, and others may take its processor, wherever its work is.
// The kernel schedules no work while there is some, so a wait at the end of the work is added at
// once, with all that is late, and what is drawn is given up. Here the thread waits at two places.
TEST_CASE("samples of waits: waits amid the work for others are counted once") {
  const bool blames = GENERATE(false, true);
  const auto check = [&](std::uint32_t first, std::uint32_t second) {
    INFO("before the atomic instructions " << first << " and " << second);
    OneThread of(blames);
    set_unit(kUs);
    of.thread.in_memory = false;
    of.thread.in_kernel = true;
    of.wait(50 * kUs);
    of.wait(70 * kUs);
    std::uint32_t at = 0;
    fake_interruption = [&] {
      const std::uint32_t here = at++;
      if (here != first && here != second) return;
      const auto later = std::exchange(fake_interruption, nullptr);
      of.thread.in_memory = false;
      fake_refuses_work = true;
      of.wait(here == first ? 90 * kUs : 110 * kUs);
      fake_refuses_work = false;
      fake_interruption = later;
    };
    of.machine.return_to_user(kCpu);
    fake_interruption = nullptr;
    const std::uint64_t whole = (first < at ? 210 : 120) * kUs + (second < at ? 110 * kUs : 0);
    const ls_off_cpu known = of.machine.known(of.thread);
    std::uint64_t waited = 0;
    std::uint64_t count = 0;
    for (const auto& [wait, sum] : of.machine.waits()) {
      if (wait.part == LS_PART_RUNNABLE) continue;
      waited += sum.ns;
      count += sum.count;
    }
    for (const unsigned part : {LS_PART_WAITING, LS_PART_UNINTERRUPTIBLE}) {
      waited += known.late[0].ns[part];
      count += known.late[0].count[part];
      CHECK(known.drawn_ns[part] <= whole);
    }
    CHECK(waited == whole);
    CHECK(count == 2U + (first < at) + (second < at));
    for (const auto& sample : of.samples()) CHECK(sample.weight_ns <= whole);
    return at;
  };
  const std::uint32_t places = check(~0U, ~0U);
  CHECK(places > 5);
  // The first wait may make more of them.
  for (std::uint32_t first = 0; first < places + 5; ++first) {
    for (std::uint32_t second = first + 1; second < places + 15; ++second) check(first, second);
  }
}
