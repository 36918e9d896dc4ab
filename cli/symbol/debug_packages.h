// This finds out which package would bring the debug symbols of a file that dpkg(1) has installed.
//
// dpkg keeps the names of a package's files in /var/lib/dpkg/info/PACKAGE.list, which only root can
// change. They are read once, at the first call, and kept as hashes: a desktop has a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class DebugPackages {
 public:
  explicit DebugPackages(std::string folder = "/var/lib/dpkg/info") : folder_(std::move(folder)) {}

  // Returns the empty text if the package is not known, or if `file` is not the one that this
  // system has at `path`: in a container it may be of another version.
  std::string of(const std::string& path, const UniqueFd& file);

 private:
  void read();

  std::string folder_;
  bool is_read_ = false;
  std::vector<std::string> packages_;
  std::vector<std::pair<std::size_t, std::uint32_t>> files_;  // hash, package; sorted
};

// Returns "liblzma5-dbgsym" for "liblzma5".
std::string debug_package_of(const std::string& package);

}  // namespace labelscope::cli
