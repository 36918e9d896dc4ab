// Collects the rules that label sets have broken, over many samples: one diagnostic for each rule
// and thread name, with a count. Processes of one name are one subject.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/check/report.h"
#include "cli/host/check_effort.h"
#include "labelscope/check_set.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// One thread's label set, read while it was stopped.
struct SetSample {
  Tid tid{};
  std::string thread;     // its name
  std::string publisher;  // path of the file that publishes it
  SetCheck check;
};

class DataFindings {
 public:
  // Whether the sample breaks a rule that no sample of a thread of this name has broken before.
  // `comm`: the process's name.
  bool is_new(const std::string& comm, const SetSample& sample) const;
  void add(Pid pid, const std::string& comm, SetSample&& sample);

  // The number of sets so far that have labels or break a rule.
  std::uint64_t labelled() const { return labelled_; }
  // How much has been read so far.
  CheckEffort effort() const;

  // Adds to the report: a subject for the processes of each name, if one of them had a label set;
  // and the effort. Call it once.
  void report(CheckReport& report);

 private:
  struct Process {
    std::map<std::pair<RuleId, std::string>, Diagnostic> diagnostics;  // by rule and thread name
    Pid first{};
    std::string publisher;       // of the first diagnostic
    std::uint64_t left_out = 0;  // diagnostics beyond what is kept
  };

  std::map<std::string, Process> processes_;  // by name
  std::set<Tid> threads_;
  std::uint64_t samples_ = 0;
  std::uint64_t labelled_ = 0;
};

}  // namespace labelscope::cli
