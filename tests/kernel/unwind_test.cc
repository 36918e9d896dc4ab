// Tests stacks by call frame information of live programs, on the running kernel.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include "bpf/wire/wire.h"
#include "kernel/chain_samples.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

ucontext_t outside;
ChildSide* fiber_side = nullptr;

// Its caller is nobody, but it has a return address, which it reports.
__attribute__((noinline, noclone)) void run_in_context() {
  fiber_side->say(
      reinterpret_cast<std::uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0))));
  burn([] { return fiber_side->told(); });
  setcontext(&outside);
}

int end_at_once(void*) { return 0; }

// Makes a process that shares this one's memory, and waits for its end.
__attribute__((noinline, noclone)) void make_short_one() {
  static char stack[16384];
  const int pid = clone(end_at_once, stack + sizeof stack, CLONE_VM | SIGCHLD, nullptr);
  if (pid > 0) waitpid(pid, nullptr, 0);
}

bool is_near(std::uint64_t pc, std::uint64_t start, std::uint64_t size) {
  return pc - start < size;
}

}  // namespace

TEST_CASE("unwind: the stack of every sample is the call chain that its label says") {
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    call_at_random(4711, [&] { return parent.told(); });
  });
  child.hear();
  Taken taken;
  sample_until(
      {.frequency_hz = 4999, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock},
      child, taken, [&] { return taken.samples.size() >= 5000; });
  require_true(taken.samples);
  std::size_t compared = 0;
  std::size_t longest = 0;
  for (const TakenSample& sample : taken.samples) {
    if (sample.seen.labels.empty() || !is_complete(sample)) continue;
    longest = std::max(longest, chain_of(sample).size());
    ++compared;
  }
  INFO(ends_of(taken.samples));
  std::printf("FACT: chain/samples %zu compared, %zu of %zu complete, longest chain %zu: %s\n",
              compared, complete_in(taken.samples), taken.samples.size(), longest,
              ends_of(taken.samples).c_str());
  CHECK(longest > 10);
  CHECK(compared * 1000 >= taken.samples.size() * 990);
  require_complete(taken.samples, 999);
}

TEST_CASE("unwind: a recursion of 400 calls is seen whole, a deeper one is cut and says so") {
  const unsigned depth = GENERATE(400U, 600U);
  SampledChild child([depth](ChildSide& parent) {
    parent.say(1);
    recurse(depth, [&] { return parent.told(); });
  });
  child.hear();
  Taken taken;
  sample_some({.call_graph = LS_CALL_GRAPH_DWARF}, child, taken);
  std::size_t whole = 0;
  for (const TakenSample& sample : taken.samples) {
    if (depth == 600) {
      REQUIRE(sample.stack_end == LS_STACK_TOO_DEEP);
      REQUIRE(sample.user_stack.size() == LS_MAX_USER_FRAMES);
    } else if (is_complete(sample)) {
      whole += recursions_in(sample.user_stack) == depth;
    }
  }
  INFO(ends_of(taken.samples) << "; " << recursions_in(taken.samples[0].user_stack));
  if (depth == 400) CHECK(whole * 100 >= taken.samples.size() * 95);
}

TEST_CASE("unwind: threads in system calls have their whole stacks, too") {
  SampledChild child([](ChildSide& parent) {
    burn([&] {
      for (int i = 0; i < 2000; ++i) (void)getppid();
      return parent.told();
    });
  });
  Taken taken;
  sample_until({.frequency_hz = 999, .call_graph = LS_CALL_GRAPH_DWARF}, child, taken, [&] {
    return std::count_if(taken.samples.begin(), taken.samples.end(), [](const TakenSample& sample) {
             return !sample.kernel_stack.empty();
           }) >= 50;
  });
  INFO(ends_of(taken.samples));
  CHECK(complete_in(taken.samples) * 100 >= taken.samples.size() * 99);
}

TEST_CASE("unwind: the stack of a context ends where its first function would return to") {
  SampledChild child([](ChildSide& parent) {
    static char stack[256 << 10];
    ucontext_t inside;
    fiber_side = &parent;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, run_in_context, 0);
    swapcontext(&outside, &inside);
  });
  const std::uint64_t made = child.hear();
  Taken taken;
  sample_some({.call_graph = LS_CALL_GRAPH_DWARF}, child, taken);
  INFO(ends_of(taken.samples));
  CHECK(complete_in(taken.samples) * 100 >= taken.samples.size() * 99);
  for (const TakenSample& sample : taken.samples) {
    if (!is_complete(sample)) continue;
    REQUIRE(sample.user_stack.size() > 2);
    // A frame that is no caller is one byte before its address.
    REQUIRE(sample.user_stack.back() - 1 == made);
  }
}

TEST_CASE("unwind: who makes a thread or a process keeps the own callers meanwhile") {
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    while (!parent.told()) make_short_one();
  });
  child.hear();
  const auto start = reinterpret_cast<std::uint64_t>(&clone);
  const auto is_in_clone = [&](const TakenSample& sample) {
    return sample.pid == child.pid() && !sample.user_stack.empty() &&
           is_near(sample.user_stack[0], start, 96);
  };
  Taken taken;
  sample_until({.frequency_hz = 4999, .call_graph = LS_CALL_GRAPH_DWARF}, child, taken,
               [&] { return std::ranges::count_if(taken.samples, is_in_clone) >= 50; });
  const auto maker = reinterpret_cast<std::uint64_t>(&make_short_one);
  std::size_t whole = 0;
  std::size_t all = 0;
  for (const TakenSample& sample : taken.samples) {
    if (!is_in_clone(sample)) continue;
    ++all;
    if (!is_complete(sample)) continue;
    ++whole;
    REQUIRE(sample.user_stack.size() > 3);
    REQUIRE(is_near(sample.user_stack[1], maker, 128));
  }
  INFO(whole << " of " << all << " in clone(), of all: " << ends_of(taken.samples));
  CHECK(whole * 100 >= all * 98);
}

// Programs of three milliseconds end before anything else would end the wait.
TEST_CASE("unwind: code that a process maps is noticed at once, also where nothing is sampled") {
  SampledChild child([](ChildSide& parent) {
    parent.wait_until_told();
    parent.take();
    const int file = memfd_create("code", MFD_CLOEXEC);
    if (ftruncate(file, 4096) != 0) return;
    if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) return;
    parent.wait_until_told();
  });
  using std::chrono::steady_clock;
  Taken taken;
  auto sampler = open_sampler(
      {.frequency_hz = 19, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  REQUIRE(sampler->drain(taken, std::chrono::milliseconds(100)));
  taken.mappings.clear();
  const auto begin = steady_clock::now();
  child.tell();
  while (taken.mappings.empty()) REQUIRE(sampler->drain(taken, std::chrono::seconds(20)));
  CHECK(steady_clock::now() - begin < std::chrono::seconds(10));
  child.tell();
  stop_and_balance(*sampler, taken);
}
