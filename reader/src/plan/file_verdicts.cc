#include "plan/file_verdicts.h"

namespace labelscope {

std::shared_ptr<FileVerdict> FileVerdicts::find(const FileId& file) const {
  const auto known = all_.find(file);
  return known == all_.end() ? nullptr : known->second.lock();
}

void FileVerdicts::put(const FileId& file, const std::shared_ptr<FileVerdict>& verdict) {
  all_[file] = verdict;
  if (all_.size() < crowded_) return;
  std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
  crowded_ = 2 * all_.size() + 1024;
}

}  // namespace labelscope
