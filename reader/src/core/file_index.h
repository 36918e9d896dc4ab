// The files below one directory, found by their name or by their build ID: for a folder into which
// somebody has put what belongs to a core file, in whatever order.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace labelscope {

// Reads the directory when it is first asked. Not thread-safe.
class FileIndex {
 public:
  explicit FileIndex(std::string directory) : directory_(std::move(directory)) {}

  // Paths, those nearest to the directory first.
  std::vector<std::string> named(const std::string& name);
  // Opens every file once; so ask for names first.
  std::vector<std::string> with_build_id(const std::string& build_id);
  // It has more files than are looked at. Known once something was asked for.
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
  std::vector<std::string> paths_;
  std::unordered_multimap<std::string, std::size_t> by_name_;  // indexes of paths_
  std::multimap<std::string, std::string> by_build_id_;
};

}  // namespace labelscope
