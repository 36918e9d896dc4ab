// FileFinder looks for a file of a dead process where it may be now: at its own path below a system
// root, below usr/lib/debug/.build-id there, or in one of the directories that the user named.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/file_index.h"
#include "labelscope/core_file.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

struct WantedFile {
  std::string path;      // the path that the process used
  std::string build_id;  // empty if it is not known
  bool main_executable = false;
};

// It is not thread-safe.
class FileFinder {
 public:
  explicit FileFinder(const CoreOptions& options);

  // Opens candidates until `fits` accepts one. Fails with kNotFound if none fits; the context has a
  // reason for each file that was there.
  Result<UniqueFd> find(const WantedFile& wanted,
                        const std::function<Status(const UniqueFd&)>& fits);

 private:
  class Search;

  std::string executable_;
  std::vector<std::string> sysroots_;
  std::vector<FileIndex> directories_;
};

}  // namespace labelscope
