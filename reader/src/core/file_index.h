// FileIndex finds files below one directory by name or by build ID. It is made for a folder in
// which a user has collected the files that belong to a core file.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace labelscope {

// It reads the directory when it is first used. It is not thread-safe.
class FileIndex {
 public:
  explicit FileIndex(std::string directory) : directory_(std::move(directory)) {}

  // Returns paths of the files with this name, those nearest to the directory first.
  std::vector<std::string> named(const std::string& name);
  // Does the same by build ID. The first call opens every file, so try names first.
  std::vector<std::string> with_build_id(const std::string& build_id);
  // Returns whether the directory has more files than this looks at. That is known after the first
  // search.
  bool is_cut() const { return cut_; }
  static constexpr std::size_t kMaxFiles =
      100000;  // a container's whole root has some ten thousand

 private:
  void list();
  void read_build_ids();

  std::string directory_;
  bool listed_ = false;
  bool build_ids_read_ = false;
  bool cut_ = false;
  std::vector<std::string> paths_;  // those nearest to the directory first
  std::unordered_map<std::string, std::vector<std::string>> by_name_;
  std::unordered_map<std::string, std::vector<std::string>> by_build_id_;
};

}  // namespace labelscope
