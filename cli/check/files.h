// This is what the static rules find in files: in those that the user has named (check FILE...),
// and in those that checked processes have loaded.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/report.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// Adds a subject for each file that publishes labels or tries to, among these files and all files
// below these directories. Problems are: a named file that cannot be checked or publishes nothing,
// and a directory without any publisher. A file below a directory that cannot be read is a remark.
void check_files(const std::vector<std::string>& paths, CheckReport& report);

// Opens files while a process has them, and judges them later: a short-lived program leaves no time
// for more than its labels.
class LoadedFiles {
 public:
  // Notes which files are mapped, and what planning found that is not in the file itself.
  void look_at(const LiveProcess& process, const ProcessPlan& plan);

  // Adds a subject for each file that publishes labels or tries to, and a problem for each file
  // that should publish by its name and cannot be judged. Call it once.
  void report(CheckReport& report);

 private:
  struct File {
    std::string path;
    UniqueFd waiting;                       // open until it is judged
    std::optional<CheckedSubject> subject;  // set if it was judged and publishes, or tries to
    std::string version_in_memory;          // what is wrong with it; empty if nothing
    RuleId loading_rule{};                  // the rule that it must be loaded at the start
    std::optional<bool> loaded_later;       // nullopt: not known
  };

  void open(const LiveProcess& process, const Mapping& mapping);
  void judge_waiting();
  void judge_load_time(const LiveProcess& process, const ProcessPlan& plan);
  static void add_live_rules(File& file);

  std::map<FileId, File> files_;
  std::size_t waiting_ = 0;
  int load_time_questions_ = 0;
  std::vector<CheckProblem> problems_;
};

}  // namespace labelscope::cli
