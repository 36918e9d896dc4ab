// Tests the parts of a sample that are not labels: process and thread, time, and stacks.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "bpf/wire/wire.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Spends half of the time in user mode, half in the kernel.
void burn_and_call(ChildSide& parent) {
  burn([&] {
    for (int i = 0; i < 2000; ++i) (void)getppid();
    return parent.told();
  });
}

// Each call keeps a frame of its own, since something is left to do behind it.
__attribute__((noinline)) void burn_below(int calls, ChildSide& parent) {
  if (calls == 0) return parent.burn_until_told();
  burn_below(calls - 1, parent);
  asm volatile("");
}

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

TEST_CASE("sampler: a sample says which process, which thread, its name and when") {
  SampledChild child([](ChildSide& parent) {
    prctl(PR_SET_NAME, "fifteen-letters");
    parent.say(1);
    parent.burn_until_told();
  });
  child.hear();
  std::uint64_t before = monotonic_ns();
  Taken taken;
  sample_some({}, child, taken);
  std::uint64_t after = monotonic_ns();
  for (const TakenSample& sample : taken.samples) {
    REQUIRE(sample.pid == child.pid());
    REQUIRE(raw(sample.tid) == raw(child.pid()));
    REQUIRE(sample.comm == "fifteen-letters");
    REQUIRE(sample.time_ns >= before);
    REQUIRE(sample.time_ns <= after);
  }
}

TEST_CASE(
    "sampler: user stacks start at the leaf, kernel stacks are there for samples in the kernel") {
  SampledChild child(burn_and_call);
  Taken taken;
  auto [start, end] = burn_code();
  std::size_t in_kernel = 0;
  std::size_t burning = 0;
  std::size_t counted = 0;
  sample_until({.frequency_hz = 999}, child, taken, [&, start = start, end = end] {
    for (; counted < taken.samples.size(); ++counted) {
      const TakenSample& sample = taken.samples[counted];
      const bool user = sample.kernel_stack.empty();
      in_kernel += !user;
      burning += user && !sample.user_stack.empty() && sample.user_stack[0] >= start &&
                 sample.user_stack[0] < end;
    }
    // How the time is shared depends on the cost of a system call, which is high where it is
    // emulated.
    return burning >= 20 && in_kernel >= 10;
  });
  for (const TakenSample& sample : taken.samples) {
    if (sample.kernel_stack.empty()) {
      REQUIRE(sample.user_stack.size() >= 2);
    } else {
      REQUIRE(sample.kernel_stack[0] >> 63 == 1);
    }
  }
}

TEST_CASE("sampler: a stack of frame pointers shows whether it has more than the kernel follows") {
  const bool deep = GENERATE(false, true);
  SampledChild child(
      [deep](ChildSide& parent) { burn_below(deep ? 2 * LS_MAX_FRAMES : 0, parent); });
  Taken taken;
  sample_some({}, child, taken);
  std::size_t cut = 0;
  for (const TakenSample& sample : taken.samples) {
    const std::size_t frames = sample.user_stack.size();
    REQUIRE(sample.stack_end == (frames == 0               ? LS_STACK_MISSING
                                 : frames == LS_MAX_FRAMES ? LS_STACK_TOO_DEEP
                                                           : LS_STACK_CHAIN_ENDED));
    cut += sample.stack_end == LS_STACK_TOO_DEEP;
  }
  REQUIRE((cut > 0) == deep);
}

TEST_CASE("sampler: either stack can be left out") {
  SampledChild child(burn_and_call);
  bool user = GENERATE(true, false);
  Taken taken;
  sample_some({.call_graph = user ? LS_CALL_GRAPH_FP : LS_CALL_GRAPH_NONE, .kernel_stacks = !user},
              child, taken);
  std::size_t user_frames = 0;
  std::size_t kernel_frames = 0;
  for (const TakenSample& sample : taken.samples) {
    user_frames += sample.user_stack.size();
    kernel_frames += sample.kernel_stack.size();
    REQUIRE((sample.stack_end == LS_STACK_NOT_WANTED) == !user);
  }
  REQUIRE((user_frames > 0) == user);
  REQUIRE((kernel_frames > 0) == !user);
}

TEST_CASE("sampler: other processes are not handed out") {
  SampledChild child([](ChildSide& parent) { parent.burn_until_told(); });
  SampledChild other([](ChildSide& parent) { parent.burn_until_told(); });
  Taken taken;
  Counters counters = sample_some({}, child, taken);
  for (const TakenSample& sample : taken.samples) REQUIRE(sample.pid == child.pid());
  REQUIRE(counters.others[Counter::kOfOtherProcesses] > 0);
}
