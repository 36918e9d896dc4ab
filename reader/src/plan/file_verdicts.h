// FileVerdicts is what planners know of files, so that a file that many processes have loaded is
// looked at once.
//
//   planner of a process  ---- owns ----> FileVerdict <---- knows ---- FileVerdicts, one for all
//   planner of another    ---- owns --------^                          planners of a recording
//
// A verdict lives as long as some process has the file mapped: a file that is not mapped may be
// written anew under the same inode. A file that is mapped may be written in place all the same. So
// a planner that takes over a verdict from another process compares the file's times first.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "labelscope/mapping.h"
#include "sources/variable/named_variable.h"

namespace labelscope {

struct FileVerdict {
  // A verdict depends on the file's bytes, its name in the process, and its role there. The times
  // are empty if they are not known, so that no planner takes the verdict over.
  std::optional<FileTimes> times;
  std::string path;
  bool main_executable = false;

  bool may_publish = true;  // true if it has what makes a publisher, or could not be read
  bool notices_preset = false;  // ProcessPlan::notices_preset
  bool is_runtime = false;  // true if it belongs to the libc: a recipe may depend on it
  // The other variables of the file. They are read only if the user has named variables.
  ThreadLocalNames thread_locals{};
};

class FileVerdicts {
 public:
  // Returns null if no planner has one.
  std::shared_ptr<FileVerdict> find(const FileId& file) const {
    const auto known = all_.find(file);
    return known == all_.end() ? nullptr : known->second.lock();
  }
  // Replaces what was known of the file. Planners that own the former one keep it.
  void put(const FileId& file, const std::shared_ptr<FileVerdict>& verdict) {
    all_[file] = verdict;
    if (all_.size() < crowded_) return;
    std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
    crowded_ = 2 * all_.size() + 1024;
  }

 private:
  std::map<FileId, std::weak_ptr<FileVerdict>> all_;
  std::size_t crowded_ = 1024;  // with so many entries it is time to drop those without an owner
};

}  // namespace labelscope
