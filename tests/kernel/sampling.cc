#include "kernel/sampling.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "kernel/sampled_child.h"
#include "labelscope/saved_pointer.h"
#include "sources/label_codec.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

// This is enough for an emulated processor on a machine that is busy elsewhere.
constexpr std::chrono::seconds kPatience{60};
constexpr int kAttempts = 5;

// The kernel lowers the highest rate where a sample takes long, as on an emulated processor, even
// while a test runs. The tests wait for a number of samples, so a lower rate will do.
std::uint32_t highest_rate() {
  std::uint32_t rate = 0;
  std::ifstream("/proc/sys/kernel/perf_event_max_sample_rate") >> rate;
  return std::max(rate, 1U);
}

}  // namespace

void Taken::on_sample(const Sample& sample) {
  TakenSample one;
  one.pid = sample.process.pid;
  one.tid = sample.tid;
  one.time_ns = sample.time_ns;
  one.thread_ns = sample.thread_ns;
  one.comm = sample.comm;
  for (const std::uint64_t word : sample.stack.user) {
    const Frame frame = sample.stack.frame(word);
    one.user_stack.push_back(frame.value);
    one.fp_frames += frame.kind == LS_FRAME_CODE_BY_FP ? 1 : 0;
  }
  one.kernel_stack.assign(sample.stack.kernel.begin(), sample.stack.kernel.end());
  one.stack_end = sample.stack.end;
  one.seen = decode_label_bytes(sample.label_bytes, {.presets = &presets});
  one.seen.outcome = sample.outcome;
  one.seen.flags |= sample.flags;
  ++outcomes[sample.outcome];
  samples.push_back(std::move(one));
}

void Taken::on_mapping(const MappingEvent& mapping) {
  mappings.push_back({mapping.pid, mapping.start, mapping.length, std::string(mapping.path)});
}

std::size_t Taken::with_flag(std::uint32_t flag) const {
  std::size_t count = 0;
  for (const TakenSample& sample : samples) count += (sample.seen.flags & flag) != 0;
  return count;
}

std::unique_ptr<BpfSampler> open_sampler(SamplerOptions options) {
  skip_without_bpf();
  options.frequency_hz = std::min(options.frequency_hz, highest_rate());
  options.tables_wait = kPatience;
  auto sampler = BpfSampler::open(options);
  INFO((sampler ? "" : sampler.error().context));
  REQUIRE(sampler);
  return *std::move(sampler);
}

void wait_for(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("what was waited for did not come");
    std::this_thread::yield();
  }
}

void drain_until(Sampler& sampler, Taken& taken, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    REQUIRE(sampler.drain(taken, std::chrono::milliseconds(20)));
    if (std::chrono::steady_clock::now() > deadline) FAIL("what was waited for did not come");
  }
}

Counters stop_and_balance(Sampler& sampler, Taken& taken) {
  REQUIRE(sampler.stop(taken));
  Counters counters = sampler.counters();
  for (const auto& [name, count] : counters.others.by_name()) UNSCOPED_INFO(name << " = " << count);
  std::uint64_t sum = 0;
  for (std::uint64_t count : counters.outcomes) sum += count;
  REQUIRE(counters.pending == 0);
  REQUIRE(counters.taken == sum);
  REQUIRE(taken.samples.size() == counters.taken - counters.dropped);
  // Each outcome may lack samples that were dropped.
  for (std::size_t i = 0; i < counters.outcomes.size(); ++i) {
    INFO("outcome " << i << ", dropped: " << counters.dropped);
    REQUIRE(taken.outcomes[i] <= counters.outcomes[i]);
    REQUIRE(counters.outcomes[i] - taken.outcomes[i] <= counters.dropped);
  }
  return counters;
}

Counters sample_until(SamplerOptions options, SampledChild& child, Taken& taken,
                      const std::function<bool()>& condition) {
  for (int attempt = 1;; ++attempt) {
    auto sampler = open_sampler(options);
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    REQUIRE(sampler->start());
    drain_until(*sampler, taken, condition);
    Counters counters = stop_and_balance(*sampler, taken);
    // If a thread did not get its processor for longer than the sampler waits, it has samples
    // without a thread pointer first, which is right (labelscope/saved_pointer.h).
    const bool known = taken.of_outcome(LS_UNREADABLE_NO_THREAD_POINTER) == 0;
    if (known || !kSavedPointerLags || attempt == kAttempts) return counters;
    taken = Taken();
  }
}

Counters sample_some(SamplerOptions options, SampledChild& child, Taken& taken) {
  options.frequency_hz = 999;
  return sample_until(options, child, taken, [&] { return taken.samples.size() >= 200; });
}

}  // namespace labelscope::test
