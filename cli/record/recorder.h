// A recording in progress: the sampler's events in, a Profile out.
//
// The recorder keeps what the sampler must know (recipes by process) in step with what the
// processes do (fork, exec, map a library, end), and what the profile must know (mappings) before
// it is gone.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/profile_builder.h"
#include "cli/record/tracked_process.h"
#include "labelscope/sampler.h"

namespace labelscope::cli {

class Recorder final : private EventHandler {
 public:
  // Nothing is sampled yet. `keep_each_sample`: with its time, for a lossless recording.
  Recorder(std::unique_ptr<Sampler> sampler, bool keep_each_sample);

  // A process to sample. kVanished, kPermission as TrackedProcess::refresh. One that executes
  // another program meanwhile is sampled, and planned when its on_exec() comes.
  Status add(Pid pid);
  Status start() { return sampler_->start(); }
  // Takes what has come in, waiting for up to `timeout`, and plans where planning is due.
  Status step(std::chrono::milliseconds timeout);
  // Ends sampling and takes the rest. Call once.
  Status stop();

  std::uint64_t samples() const { return builder_.samples(); }
  std::uint64_t labelled() const { return builder_.labelled(); }
  std::uint64_t broken_stacks() const { return builder_.broken_stacks(); }
  std::uint64_t dropped() const;
  const std::map<Pid, std::unique_ptr<TrackedProcess>>& processes() const { return processes_; }
  const Sampler& sampler() const { return *sampler_; }

  // After stop(): rows, stacks, modules, processes and the ledger. `files` is parallel to the
  // modules.
  Profile take_profile(std::vector<ModuleFile>& files);

 private:
  void on_sample(const RawSample& sample) override;
  void on_fork(Pid parent, Pid child) override;
  void on_exec(Pid pid) override;
  void on_exit(Pid pid) override;
  void on_mapping(const MappingEvent& event) override;
  void on_mappings_lost() override;

  TrackedProcess* find(Pid pid);
  void plan(TrackedProcess& process);

  std::unique_ptr<Sampler> sampler_;
  ModuleTable modules_;
  ProfileBuilder builder_;
  std::map<Pid, std::unique_ptr<TrackedProcess>>
      processes_;                                  // ended ones stay: their samples are here
  std::map<std::string, std::uint64_t> counters_;  // events that only the recorder sees
  Pid last_pid_{};
  TrackedProcess* last_process_ = nullptr;
};

}  // namespace labelscope::cli
