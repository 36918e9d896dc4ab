// A live process while it is checked, and the findings in its label sets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/files.h"
#include "cli/check/report.h"
#include "cli/host/check_effort.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "sampling/snapshot.h"
#include "sources/check_set.h"

namespace labelscope::cli {

// One thread's label set, read while it was stopped.
struct SetSample {
  Tid tid{};
  std::string thread;     // name of the thread
  std::string publisher;  // path of the file that publishes it
  unsigned source = 0;    // enum ls_source
  SetCheck check;
};

// Collects the rules that label sets have broken, over many samples: one diagnostic with a count
// for each rule and thread name. Processes of one name are one subject.
class DataFindings {
 public:
  // Returns whether the sample breaks a rule that no sample of a thread of this name has broken
  // before. `comm` is the process's name.
  bool is_new(const std::string& comm, const SetSample& sample) const;
  void add(Pid pid, const std::string& comm, SetSample&& sample);

  // Returns the number of sets so far that have labels or break a rule.
  std::uint64_t labelled() const { return labelled_; }
  // Returns how much has been read so far.
  CheckEffort effort() const;

  // Adds to the report a subject for the processes of each name if one of them had a label set, and
  // the effort. Call it once.
  void report(CheckReport& report);

 private:
  struct ProcessGroup {
    std::map<std::pair<RuleId, std::string>, Diagnostic> diagnostics;  // by rule and thread name
    Pid first{};
    std::string publisher;       // publisher of the first diagnostic
    std::uint64_t left_out = 0;  // number of diagnostics beyond those kept
    std::set<unsigned> sources;  // sources whose rules were checked
  };

  std::map<std::string, ProcessGroup> processes_;  // by process name
  std::set<Tid> threads_;
  std::uint64_t samples_ = 0;
  std::uint64_t labelled_ = 0;
};

// One live process while it is checked. It is planned when it changes, and each of its threads is
// stopped and read once for each sample.
class WatchedProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // `current_stop` is that of snapshot_process().
  explicit WatchedProcess(Pid pid, std::atomic<std::uint64_t>* current_stop = nullptr)
      : pid_(pid), current_stop_(current_stop) {}

  // Reads the label sets of all threads once. Returns how many threads it stopped. Fails with
  // kVanished if the process has ended, and with kPermission if it may not be read. `held`: see
  // SnapshotOptions.
  Result<std::uint64_t> sample(DataFindings& findings, LoadedFiles& files,
                               const std::optional<HeldThread>& held = std::nullopt);
  // The next sample plans again, however short ago the last plan was made.
  void plan_now() { plan_now_ = true; }

  // Returns the name that the process had when it was first sampled, which is that of its program.
  const std::string& comm() const { return comm_; }
  // Returns the number of programs it has executed, as far as that was noticed.
  std::uint64_t programs() const { return programs_; }
  // Returns the last plan; nullopt: there was none yet.
  const std::optional<ProcessPlan>& plan() const { return plan_; }
  // Returns how often threads could not be stopped or located, and the last reason.
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
  std::unique_ptr<LiveProcess> process_;  // null: must be opened (again)
  Planner planner_;
  std::optional<ProcessPlan> plan_;
  Clock::time_point first_seen_ = Clock::now();  // when its program was first seen
  Clock::time_point planned_at_{};
  bool plan_now_ = false;
  std::uint64_t unread_ = 0;
  std::string why_unread_;
};

}  // namespace labelscope::cli
