// The files that checked processes have loaded: opened as long as a process has them, judged later,
// so that a short-lived program's labels do not wait for its files.
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
  // Takes note of what is mapped, and of what planning found out that a file cannot tell.
  void look_at(const LiveProcess& process, const ProcessPlan& plan);

  // A subject for each file that publishes labels or tries to; problems for those that by their
  // name should and cannot be judged. Call once.
  void report(CheckReport& report);

 private:
  struct File {
    std::string path;
    std::optional<CheckedSubject> subject;  // once it was judged, if it publishes or tries to
    std::string version_in_memory;          // what is wrong with it; empty if nothing
    std::optional<bool> loaded_later;       // nullopt: it was not told
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
