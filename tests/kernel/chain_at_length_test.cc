// The same comparison over many samples, for people who wait for it (tests/bench/README.md); ctest
// does not run it.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "kernel/chain_samples.h"
#include "kernel/hard_calls.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

std::uint64_t wanted_samples() {
  const char* text = std::getenv("LABELSCOPE_CHAIN_SAMPLES");
  return text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
}

// Judges samples as they come, and keeps none.
struct Judge {
  void take(Taken& taken) {
    for (const TakenSample& sample : taken.samples) {
      ++samples;
      ++ends[sample.stack_end];
      const std::string chain = chain_of(sample);
      const std::string why = contradiction(sample, all_chain_codes());
      compared += !sample.seen.labels.empty();
      complete += is_complete(sample);
      torn += is_torn(sample);
      contradictions += !why.empty();
      if (!why.empty() && contradictions <= 20) std::printf("CONTRADICTION: %s\n", why.c_str());
    }
    taken.samples.clear();
    taken.mappings.clear();
    taken.forks.clear();
    taken.exits.clear();
    taken.ends.clear();
  }
  std::string text() const {
    return std::to_string(compared) + " compared of " + std::to_string(samples) + ", " +
           std::to_string(contradictions) + " contradictions, " + std::to_string(complete) +
           " complete, " + std::to_string(torn) + " torn";
  }
  std::uint64_t samples = 0;
  std::uint64_t compared = 0;
  std::uint64_t complete = 0;
  std::uint64_t torn = 0;
  std::uint64_t contradictions = 0;
  std::map<int, std::uint64_t> ends;
};

}  // namespace

TEST_CASE("unwind: as many stacks as are asked for, and none contradicts its label", "[.chain]") {
  const std::uint64_t wanted = wanted_samples();
  const auto at_random = [](unsigned seed) {
    return [seed](ChildSide& parent) { call_at_random(seed, [&] { return parent.told(); }); };
  };
  SampledChild first(at_random(4711));
  SampledChild second(at_random(1174));
  SampledChild hard([](ChildSide& parent) { call_hard_ones([&] { return parent.told(); }); });
  auto sampler = open_sampler(
      {.frequency_hz = 4999, .call_graph = LS_CALL_GRAPH_DWARF, .event = SampledEvent::kClock});
  for (const SampledChild* each : {&first, &second, &hard}) {
    REQUIRE(sampler->set_process(each->pid(), {&each->recipe(), 1}));
  }
  REQUIRE(sampler->start());
  Judge judge;
  Taken taken;
  for (std::uint64_t told = 0; judge.compared < wanted;) {
    REQUIRE(sampler->drain(taken, std::chrono::milliseconds(100)));
    judge.take(taken);
    if (judge.compared / 100'000 == told) continue;
    told = judge.compared / 100'000;
    std::printf("%s\n", judge.text().c_str());
    std::fflush(stdout);
  }
  REQUIRE(sampler->stop(taken));
  judge.take(taken);
  const Counters counters = sampler->counters();
  std::string ends;
  for (const auto& [end, count] : judge.ends) {
    ends += " " + std::to_string(count) + " of end " + std::to_string(end);
  }
  std::printf("FACT: chain/length %s; dropped %llu;%s\n", judge.text().c_str(),
              static_cast<unsigned long long>(counters.dropped), ends.c_str());
  CHECK(judge.contradictions == 0);
  CHECK(judge.samples == counters.taken - counters.dropped);
}
