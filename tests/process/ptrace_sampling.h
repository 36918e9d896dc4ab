// What the tests of the ptrace sampler share: a handler that keeps all that it receives, and a
// balance.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sampling/ptrace_sampler.h"
#include "support/catch.h"
#include "support/target_process.h"

namespace labelscope::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Kept {
  Pid pid{};
  Tid tid{};
  ls_outcome outcome{};
  std::uint32_t flags = 0;
  std::size_t frames = 0;
  Address top = 0;
};

class Handler final : public EventHandler {
 public:
  void on_sample(const Sample& sample) override {
    samples.push_back({sample.process.pid, sample.tid, sample.outcome, sample.flags,
                       sample.stack.user.size(),
                       sample.stack.user.empty() ? 0 : sample.stack.user.front()});
  }
  void on_fork(Pid parent, ProcessKey child) override { forks.emplace_back(parent, child.pid); }
  void on_exec(ProcessKey process, std::string_view) override { execs.push_back(process.pid); }
  void on_exit(Pid pid) override { exits.push_back(pid); }
  void on_thread_end(ProcessKey, Tid tid, std::uint64_t thread_ns) override { ends[tid] += thread_ns; }
  void on_mapping(const MappingEvent& event) override { mappings.emplace_back(event.path); }

  std::size_t count(const std::function<bool(const Kept&)>& wanted) const {
    return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), wanted));
  }

  std::vector<Kept> samples;
  std::vector<std::pair<Pid, Pid>> forks;
  std::vector<Pid> execs;
  std::vector<Pid> exits;
  std::map<Tid, std::uint64_t> ends;  // time of threads that have ended
  std::vector<std::string> mappings;
};

inline constexpr ls_tls_recipe kNoLabels{};  // LS_RECIPE_NONE

inline std::unique_ptr<Sampler> open_wall_sampler(PtraceSamplerOptions options = {}) {
  options.mode = SampleMode::kWall;
  // Stacks must be whole on an emulated processor, too, which is slow.
  options.max_stop = seconds(5);
  auto sampler = open_ptrace_sampler(options);
  REQUIRE(sampler);
  return *std::move(sampler);
}

inline Result<TargetProcess> spawn_shell(const std::string& script) {
  TargetOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", script};
  return TargetProcess::spawn(options);
}

inline void drain_until(Sampler& sampler, Handler& handler,
                        const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + seconds(40);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("what was waited for did not come");
    REQUIRE(sampler.drain(handler, milliseconds(20)));
  }
}

inline std::uint64_t other(const Sampler& sampler, Counter counter) {
  return sampler.counters().others[counter];
}

inline void stop_and_balance(Sampler& sampler, Handler& handler) {
  REQUIRE(sampler.stop(handler));
  const Counters counters = sampler.counters();
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    sum += counters.outcomes[i];
    CHECK(counters.outcomes[i] ==
          handler.count([&](const Kept& sample) { return sample.outcome == i; }));
  }
  CHECK(counters.taken == sum);
  CHECK(counters.pending == 0);
  CHECK(handler.samples.size() == counters.taken - counters.dropped);
}

}  // namespace labelscope::test
