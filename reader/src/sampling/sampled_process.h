// One process that PtraceSampler samples: its threads, program, recipes and mappings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelscope/target.h"
#include "process/running_program.h"
#include "sampling/ptrace_sampler.h"
#include "sampling/thread_list.h"
#include "unwind/unwind.h"

namespace labelscope {

class SampledProcess {
 public:
  // kVanished, kPermission. `parent`: set if the process is a new child of this one; it starts with
  // the parent's recipes and mappings. `like`: another process, whose unwinder may have read the
  // same files already.
  static Result<std::unique_ptr<SampledProcess>> open(Pid pid, const PtraceSamplerOptions& options,
                                                      const SampledProcess* parent,
                                                      const SampledProcess* like);

  Pid pid() const { return process_->pid(); }
  const LiveProcess& process() const { return *process_; }
  const MemorySource& memory() const { return process_->memory(); }
  ThreadList& threads() { return threads_; }
  // Null where stacks are not wanted.
  Unwinder* unwinder() const { return unwinder_.get(); }
  const std::vector<ls_tls_recipe>& recipes() const { return recipes_; }
  // LiveProcess::number_inside(), asked only for a label source that wants it.
  Tid number_inside(Tid tid) const;

  // Whether it still runs the program that we know.
  bool runs_its_program() const { return program_.runs_in(memory()); }
  bool runs_same_program(const SampledProcess& other) const { return program_ == other.program_; }
  // Call it after an exec: takes up the new program, with no recipes and no known mappings. False:
  // the process has ended, or is about to.
  bool adopt_program();
  void set_recipes(std::span<const ls_tls_recipe> recipes) {
    recipes_.assign(recipes.begin(), recipes.end());
  }
  // Whether the process exists and is not a zombie.
  bool exists() const;

  // Reports executable mappings that were not there the last time. False: cannot read the mappings.
  using OnMapping = std::function<void(const Mapping&)>;
  bool poll_mappings(const OnMapping& on_mapping);

 private:
  SampledProcess(std::unique_ptr<LiveProcess> process, ThreadList threads)
      : process_(std::move(process)), threads_(std::move(threads)) {}

  std::unique_ptr<LiveProcess> process_;
  ThreadList threads_;
  RunningProgram program_;
  std::vector<ls_tls_recipe> recipes_;
  std::unique_ptr<Unwinder> unwinder_;
  std::size_t mappings_hash_ = 0;
  std::vector<Mapping> executable_;  // by address
};

}  // namespace labelscope
