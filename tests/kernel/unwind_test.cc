// Tests stacks by call frame information of live programs, on the running kernel.
#include <algorithm>
#include <cstdio>
#include <string>

#include "bpf/wire/wire.h"
#include "kernel/chain_samples.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

TEST_CASE("unwind: the stack of every sample is the call chain that its label says") {
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    call_at_random(4711, [&] { return parent.told(); });
  });
  child.hear();
  Taken taken;
  sample_until(
      {.frequency_hz = 4999, .call_graph = LS_CALL_GRAPH_DWARF, .software_clock_only = true}, child,
      taken, [&] { return taken.samples.size() >= 5000; });
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
