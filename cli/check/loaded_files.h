// The files that checked processes have loaded. They are opened while a process has them, and
// judged later: in a short-lived program there is only time for its labels.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/check/report.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class LoadedFiles {
 public:
  // Notes which files are mapped, and what planning found that a file alone cannot tell.
  void look_at(const LiveProcess& process, const ProcessPlan& plan);

  // Adds a subject for each file that publishes labels or tries to, and a problem for each file
  // that should by its name and cannot be judged. Call it once.
  void report(CheckReport& report);

 private:
  struct File {
    std::string path;
    std::optional<CheckedSubject> subject;  // set if it was judged, and publishes or tries to
    std::string version_in_memory;          // what is wrong with it; empty if nothing
    std::optional<bool> loaded_later;       // nullopt: not known
  };
  struct Waiting {
    FileId id;
    UniqueFd fd;
  };

  void open(const LiveProcess& process, const Mapping& mapping);
  void judge_waiting();
  void judge_load_time(const LiveProcess& process, const ProcessPlan& plan);
  void add_live_rules(File& file) const;

  std::map<FileId, File> files_;
  int load_time_questions_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<CheckProblem> problems_;
};

}  // namespace labelscope::cli
