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
  struct Options {
    bool keep_each_sample = false;  // with its time, for a lossless recording
    bool cpu_time = true;           // only time on processors is sampled; else all
    std::uint64_t period_ns = 0;    // between two samples of a thread that runs, on average
  };

  // Nothing is sampled yet.
  Recorder(std::unique_ptr<Sampler> sampler, const Options& options);

  // A process to sample. kVanished, kPermission as TrackedProcess::refresh. One that executes
  // another program meanwhile is sampled, and planned when its on_exec() comes.
  Status add(Pid pid);
  // A child that is to execute its program, and is still a copy of labelscope: what it has mapped
  // until then is not the program's, and nothing in it publishes labels.
  Status add_before_exec(Pid pid);
  // Adds what this process and its children have started already. Those that cannot be added are
  // counted. How many were.
  std::size_t add_children(Pid parent);
  Status start();
  // Takes what has come in, waiting for up to `timeout`, and plans where planning is due.
  Status step(std::chrono::milliseconds timeout);
  // Ends sampling and takes the rest. Call once.
  Status stop();

  std::uint64_t samples() const { return builder_.samples(); }
  std::uint64_t labelled() const { return builder_.labelled(); }
  std::uint64_t dropped() const;
  // Changes whenever a process was planned.
  std::uint64_t plans() const { return plans_; }
  const std::map<Pid, std::unique_ptr<TrackedProcess>>& processes() const { return processes_; }
  const Sampler& sampler() const { return *sampler_; }

  // After stop(): rows, stacks, modules, processes and the ledger. `files` is parallel to the
  // modules. `time_ns`: CPU time of all that was to be sampled, where somebody knows better than
  // those who looked; else 0.
  Profile take_profile(std::vector<ModuleFile>& files, std::uint64_t time_ns);

 private:
  void on_sample(const Sample& sample) override;
  void on_fork(Pid parent, Pid child) override;
  void on_exec(Pid pid) override;
  void on_exit(Pid pid) override;
  void on_thread_end(Pid pid, Tid tid, std::uint64_t thread_ns) override;
  void on_mapping(const MappingEvent& event) override;
  void on_mappings_lost() override;

  void note_time(Pid pid);
  TrackedProcess* find(Pid pid);
  void plan(TrackedProcess& process);
  void settle_unplanned(Profile& profile) const;

  std::unique_ptr<Sampler> sampler_;
  Options options_;
  // What a process had run before it was sampled.
  std::map<Pid, std::uint64_t> time_before_;
  // Of processes that have ended and were there to be asked.
  std::map<Pid, std::uint64_t> time_at_end_;
  ModuleTable modules_;
  ProfileBuilder builder_;
  std::map<Pid, std::unique_ptr<TrackedProcess>>
      processes_;                                  // ended ones stay: their samples are here
  std::map<std::string, std::uint64_t> counters_;  // events that only the recorder sees
  std::uint64_t plans_ = 0;
  Pid first_{};  // that was added
  Pid last_pid_{};
  TrackedProcess* last_process_ = nullptr;
};

}  // namespace labelscope::cli
