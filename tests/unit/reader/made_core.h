// Opens a core file that a test has made, and writes the files beside it.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "labelscope/core_file.h"
#include "support/fake_target.h"
#include "unit/symbol/temp_folder.h"

namespace labelscope::test {

// Writes a file, and makes the folders that lead to it.
inline void write_file(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

class MadeCore {
 public:
  explicit MadeCore(const std::string& bytes,
                    const CoreOptions& options = {{}, {"/nonexistent"}, {}})
      : file_(open_bytes(bytes)),
        path_("/proc/self/fd/" + std::to_string(file_.get())),
        core_(CoreFile::open(path_, options)) {}

  const std::string& path() const { return path_; }
  bool opened() const { return core_.has_value(); }
  const Error& error() const { return core_.error(); }
  const CoreFile& operator*() const { return **core_; }
  const CoreFile* operator->() const { return core_->get(); }

 private:
  UniqueFd file_;
  std::string path_;
  Result<std::unique_ptr<CoreFile>> core_;
};

}  // namespace labelscope::test
