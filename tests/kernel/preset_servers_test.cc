// The shipped presets in BPF, held against programs that go into each state that leads a careless
// reader to a wrong label (tests/targets/servers).
#include "support/preset_servers.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "kernel/sampling.h"
#include "labelscope/observe.h"
#include "labelscope/saved_pointer.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

constexpr std::size_t kSamples = 5;  // of each thread in each state

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// What samples say of the threads of one state.
class Sampled {
 public:
  Sampled(const PresetServer& server, const ServerState& state)
      : server_(server), state_(state), begin_(now_ns()) {}

  bool is_enough(const Taken& taken) {
    for (; looked_at_ < taken.samples.size(); ++looked_at_) add(taken.samples[looked_at_]);
    return first_ >= kSamples && other_ >= kSamples && (!state_.child || child_ >= kSamples);
  }

 private:
  void add(const TakenSample& sample) {
    // It may be of the state before.
    if (sample.time_ns < begin_) return;
    if (kSavedPointerLags && sample.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER) return;
    const bool is_first = raw(sample.tid) == raw(sample.pid);
    if (state_.child && sample.pid == state_.child->pid) {
      check(sample, "a child", state_.child->first);
      ++child_;
    } else if (sample.pid == server_.pid() && is_first) {
      check(sample, "the first thread", state_.first);
      ++first_;
    } else if (sample.pid == server_.pid()) {
      check(sample, "the second thread", state_.other);
      ++other_;
    }
  }

  static void check(const TakenSample& sample, const char* of, const std::string& truth) {
    INFO(of);
    // The kernel does not say which need does not hold.
    REQUIRE(told(sample.seen) == truth.substr(0, truth.starts_with("stale: ") ? 5 : truth.size()));
  }

  const PresetServer& server_;
  const ServerState& state_;
  std::uint64_t begin_;
  std::size_t looked_at_ = 0;
  std::size_t first_ = 0;
  std::size_t other_ = 0;
  std::size_t child_ = 0;
};

}  // namespace

TEST_CASE("preset servers: in each state the labels of samples are those that the server says") {
  Taken taken;
  auto sampler = open_sampler({.frequency_hz = 999});
  bool started = false;
  for (const std::string& program : preset_server_programs()) {
    PresetServer server(program, /*burns=*/true);
    if (server.preset().empty()) continue;
    INFO(server.name());
    const ProcessPlan plan = plan_with(shipped_preset(server.preset()).parse(), server.pid());
    REQUIRE(plan.publishers.size() == 1);
    REQUIRE(sampler->set_process(server.pid(), plan.recipes(), plan.presets));
    taken.presets.keep(plan.presets);
    if (!started) REQUIRE(sampler->start());
    started = true;
    for (const std::string& name : server.states()) {
      INFO(name);
      const ServerState state = server.enter(name);
      Sampled sampled(server, state);
      taken.samples.clear();
      drain_until(*sampler, taken, [&] { return sampled.is_enough(taken); });
    }
  }
}

}  // namespace labelscope::test
