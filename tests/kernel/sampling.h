// Opens the sampler under test, keeps what it delivers, and waits for that.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bpf/sampling/sampler.h"

namespace labelscope::test {

struct TakenSample {
  Pid pid{};
  Tid tid{};
  std::uint64_t time_ns = 0;
  std::string comm;
  std::vector<std::uint64_t> user_stack;
  std::vector<std::uint64_t> kernel_stack;
  ls_stack_end stack_end{};
  unsigned fp_frames = 0;
  std::uint64_t thread_ns = 0;
  Observation seen;
};

struct TakenMapping {
  Pid pid{};
  Address start = 0;
  std::uint64_t length = 0;
  std::string path;
};

class Taken : public EventHandler {
 public:
  void on_sample(const Sample& sample) override;
  void on_fork(Pid parent, ProcessKey child) override { forks.emplace_back(parent, child.pid); }
  void on_exec(ProcessKey process, std::string_view) override { execs.push_back(process.pid); }
  void on_last_name(ProcessKey process, std::string_view name) override {
    last_names[process.pid] = name;
  }
  void on_exit(Pid pid) override { exits.push_back(pid); }
  void on_thread_end(ProcessKey, Tid tid, std::uint64_t thread_ns) override { ends[tid] += thread_ns; }
  void on_mapping(const MappingEvent& mapping) override;
  void on_mappings_lost(std::uint64_t since_ns) override {
    ++mappings_lost;
    mappings_lost_since_ns = since_ns;
  }

  std::uint64_t of_outcome(ls_outcome outcome) const { return outcomes[outcome]; }
  std::size_t with_flag(std::uint32_t flag) const;

  std::vector<TakenSample> samples;
  std::array<std::uint64_t, LS_OUTCOME_COUNT> outcomes{};
  std::vector<std::pair<Pid, Pid>> forks;
  std::vector<Pid> execs;
  std::vector<Pid> exits;
  std::map<Pid, std::string> last_names;  // of those that have ended
  std::map<Tid, std::uint64_t> ends;  // time of threads that have ended
  std::vector<TakenMapping> mappings;
  std::size_t mappings_lost = 0;  // how often it was said that some are missing
  std::uint64_t mappings_lost_since_ns = 0;
  PresetPlans presets;  // those of the processes, which a test adds
};

// Opens a sampler. Skips the test where the privilege for one is missing; any other refusal fails
// it.
std::unique_ptr<BpfSampler> open_sampler(SamplerOptions options = {});

// Waits without draining until the condition holds. Fails the test after a minute.
void wait_for(const std::function<bool()>& condition);
// Drains until the condition holds. Fails the test after a minute.
void drain_until(Sampler& sampler, Taken& taken, const std::function<bool()>& condition);

// Stops, and requires that every sample is accounted for. The number taken is the sum of the
// outcomes. The samples delivered are those taken and not dropped, each with the outcome that the
// kernel counted.
Counters stop_and_balance(Sampler& sampler, Taken& taken);

// Opens a sampler for one process, samples until the condition holds, and then calls
// stop_and_balance().
class SampledChild;
Counters sample_until(SamplerOptions options, SampledChild& child, Taken& taken,
                      const std::function<bool()>& condition);
// Takes enough samples for a rare error to show, and few enough to last less than a second.
Counters sample_some(SamplerOptions options, SampledChild& child, Taken& taken);

}  // namespace labelscope::test
