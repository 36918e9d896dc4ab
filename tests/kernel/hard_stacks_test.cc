// Tests stacks from code that other unwinders have got wrong (tests/README.md has the list),
// compared with the call chain in the target's label.
#include <algorithm>
#include <map>

#include "kernel/chain_samples.h"
#include "kernel/hard_calls.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/vfork.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

#if defined(__aarch64__)
constexpr bool kOnAarch64 = true;
#else
constexpr bool kOnAarch64 = false;
#endif

// Returns whether the sample is of this call, whose own code must be running, by the label and by
// the first frame.
bool is_of(const TakenSample& sample, const HardCall& call) {
  const std::string chain = chain_of(sample);
  if (chain.empty() || chain.back() != call.letter || sample.user_stack.empty()) return false;
  if (call.is_there != nullptr) return call.is_there(sample.user_stack[0]);
  const std::string seen = letters_of(sample.user_stack, all_chain_codes());
  return !seen.empty() && seen.back() == call.letter;
}

}  // namespace

TEST_CASE("unwind: of code that is hard to unwind, stacks are whole or end where they must") {
  skip_without_vfork();
  SampledChild child([](ChildSide& parent) {
    parent.say(1);
    call_hard_ones([&] { return parent.told(); });
  });
  child.hear();
  constexpr std::size_t kEach = 10;
  std::map<char, std::size_t> of_call;
  std::size_t looked_at = 0;
  Taken taken;
  sample_until(
      {.frequency_hz = 4999, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock},
      child, taken, [&] {
        if (taken.samples.size() < looked_at) looked_at = 0, of_call.clear();
        for (; looked_at < taken.samples.size(); ++looked_at) {
          for (const HardCall& call : hard_calls()) {
            of_call[call.letter] += is_of(taken.samples[looked_at], call);
          }
        }
        return std::all_of(hard_calls().begin(), hard_calls().end(),
                           [&](const HardCall& call) { return of_call[call.letter] >= kEach; });
      });
  // While the kernel makes a signal frame on aarch64, the pc is already the handler's, and x30 is
  // not yet set. The handler then seems to be called by the interrupted code, once more.
  const auto is_half_made = [](const TakenSample& sample) {
    return kOnAarch64 && !sample.kernel_stack.empty() && !sample.user_stack.empty() &&
           sample.user_stack[0] == start_of_handler();
  };
  const std::size_t half_made = std::erase_if(taken.samples, is_half_made);
  // Five runs in an emulator had 3 to 6 of 1,000.
  CHECK(half_made * 100 <= taken.samples.size());
  require_true(taken.samples, all_chain_codes());
  for (const HardCall& call : hard_calls()) {
    std::vector<TakenSample> its;
    std::copy_if(taken.samples.begin(), taken.samples.end(), std::back_inserter(its),
                 [&](const TakenSample& sample) { return is_of(sample, call); });
    INFO(call.letter << ", " << call.what << ": " << ends_of(its));
    // The child of vfork is a process of its own, whose tables user space brings a moment later.
    const auto all = its.size();
    const auto too_early = std::erase_if(its, [&](const TakenSample& sample) {
      return call.letter == 'v' && sample.stack_end == LS_STACK_NO_TABLE;
    });
    CHECK(too_early * 100 <= all);
    std::size_t marked = 0;
    for (const TakenSample& sample : its) {
      REQUIRE(sample.stack_end == call.end);
      // Frames that were found along frame pointers are marked. On aarch64 the stack pointer behind
      // such a frame is not known, so its callers are found along frame pointers, too.
      const bool goes_on = kOnAarch64 && call.letter == 'n';
      marked += sample.fp_frames != 0 ? 1 : 0;
      REQUIRE((goes_on || sample.fp_frames <= 1));
    }
    // The first and the last instructions of code with a frame pointer show its frame without it.
    if (call.letter == 'n') {
      CHECK(2 * marked > its.size());
    } else {
      CHECK(marked == 0);
    }
  }
}
