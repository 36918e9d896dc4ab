// One live process while it is checked: planned when it changes, and each of its threads stopped
// and read once for each sample.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/data_findings.h"
#include "cli/check/loaded_files.h"
#include "labelscope/plan.h"
#include "labelscope/snapshot.h"
#include "labelscope/target.h"

namespace labelscope::cli {

class WatchedProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // `current_stop` is snapshot_process()'s.
  explicit WatchedProcess(Pid pid, std::atomic<std::uint64_t>* current_stop = nullptr)
      : pid_(pid), current_stop_(current_stop) {}

  // Reads the label sets of all threads once. Returns how many threads it stopped. kVanished: it
  // has ended. kPermission: it may not be looked at, and why. `held`: see SnapshotOptions.
  Result<std::uint64_t> sample(DataFindings& findings, LoadedFiles& files,
                               const std::optional<HeldThread>& held = std::nullopt);
  // What is loaded is looked at again with the next sample, however short ago the last look was.
  void plan_now() { plan_now_ = true; }

  // Of the program that it runs, as it was called when it was first looked at.
  const std::string& comm() const { return comm_; }
  // How many programs it has executed, as far as that was noticed.
  std::uint64_t programs() const { return programs_; }
  // What was last planned; nullopt: nothing yet.
  const std::optional<ProcessPlan>& plan() const { return plan_; }
  // Threads that could not be stopped or located, so often; and why, the last time.
  std::uint64_t unread() const { return unread_; }
  const std::string& why_unread() const { return why_unread_; }

 private:
  struct Reading {
    std::vector<SetSample> samples;
    std::uint64_t unread = 0;
    std::string why_unread;
  };

  Status open();
  Status make_plan(LoadedFiles& files);
  bool plan_due() const;
  bool may_not_be_read() const;
  Result<std::uint64_t> read_threads(const std::optional<HeldThread>& held, Reading& reading);
  void read_sets(const ThreadSnapshot& thread, const MemorySource& memory, Reading& reading) const;

  Pid pid_;
  std::atomic<std::uint64_t>* current_stop_;
  std::string comm_;
  std::uint64_t programs_ = 0;
  std::unique_ptr<LiveProcess> process_;      // null: to be opened (again)
  Planner planner_{LS_SOURCE_CUSTOM_LABELS};  // the only source that has rules
  std::optional<ProcessPlan> plan_;
  Clock::time_point first_seen_ = Clock::now();  // the program that it runs
  Clock::time_point planned_at_{};
  bool plan_now_ = false;
  std::uint64_t unread_ = 0;
  std::string why_unread_;
};

}  // namespace labelscope::cli
