// SampledProcess is one process that PtraceSampler samples: its threads, program, recipes and
// mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/preset_plan.h"
#include "labelscope/target.h"
#include "process/running_program.h"
#include "sampling/ptrace_sampler.h"
#include "sampling/thread_list.h"
#include "unwind/unwind.h"

namespace labelscope {

class SampledProcess {
 public:
  // Fails with kVanished or kPermission. `parent` is set if the process is a new child of it; it
  // then starts with the parent's recipes and mappings. `like` is another process, whose unwinder
  // may have read the same files already.
  static Result<std::unique_ptr<SampledProcess>> open(Pid pid, const PtraceSamplerOptions& options,
                                                      const SampledProcess* parent,
                                                      const SampledProcess* like);

  Pid pid() const { return process_->pid(); }
  ProcessKey key() const { return {pid(), life_}; }
  // It is another process from now on, or runs another program.
  void begin_life(std::uint32_t life) { life_ = life; }
  const LiveProcess& process() const { return *process_; }
  const MemorySource& memory() const { return process_->memory(); }
  ThreadList& threads() { return threads_; }
  // Returns null if stacks are not wanted.
  Unwinder* unwinder() const { return unwinder_.get(); }
  const std::vector<ls_tls_recipe>& recipes() const { return recipes_; }
  const PresetPlans& presets() const { return presets_; }
  // Returns LiveProcess::number_inside(), which is read only for a label source that needs it.
  Tid number_inside(Tid tid) const;
  // Returns LiveProcess::thread_name(), which is read only for a preset that needs it.
  std::string thread_name(Tid tid) const;

  // Returns whether it still runs the known program.
  bool runs_its_program() const { return program_.runs_in(memory()); }
  bool runs_same_program(const SampledProcess& other) const { return program_ == other.program_; }
  // Call this after an exec: it takes up the new program, with no recipes and no known mappings.
  // Returns false if the process has ended, or is about to.
  bool adopt_program();
  void set_recipes(std::span<const ls_tls_recipe> recipes, const PresetPlans& presets) {
    recipes_.assign(recipes.begin(), recipes.end());
    presets_ = presets;
  }
  // Returns whether the process exists and is not a zombie.
  bool exists() const;

  // Reports executable mappings that were not there the last time. Returns false if the mappings
  // cannot be read.
  using OnMapping = std::function<void(const Mapping&)>;
  bool poll_mappings(const OnMapping& on_mapping);

 private:
  SampledProcess(std::unique_ptr<LiveProcess> process, ThreadList threads)
      : process_(std::move(process)), threads_(std::move(threads)) {}

  std::unique_ptr<LiveProcess> process_;
  ThreadList threads_;
  RunningProgram program_;
  std::vector<ls_tls_recipe> recipes_;
  PresetPlans presets_;
  std::unique_ptr<Unwinder> unwinder_;
  std::size_t mappings_hash_ = 0;
  std::vector<Mapping> executable_;  // by address
  std::uint32_t life_ = 0;
};

}  // namespace labelscope
