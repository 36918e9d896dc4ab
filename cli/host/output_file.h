// One file that appears whole or not at all: it is opened (and so tested) before sampling starts,
// and gets its name only when everything is in it. If labelscope dies, nothing half-written is left
// under that name.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// Returns 16 digits that no other file has in its name. The number of the process would not do: in
// a container each labelscope may have the same, and what a killed one has left would block the
// next.
std::string random_suffix();

class OutputFile {
 public:
  // "-" is stdout. Fails if the path exists, unless `overwrite`; devices and pipes are written
  // directly.
  static Result<OutputFile> open(const std::string& path, bool overwrite);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  // Returns whether write() can give the file its name with the current rights of this process.
  bool can_be_named() const;
  // Calls `render` with a stream, checks that every byte was taken, and gives the file its name. If
  // that fails, the file's room on the disk is freed.
  Status write(const std::function<Status(std::ostream&)>& render);
  // Bytes written.
  std::uint64_t size() const { return size_; }

 private:
  enum class Kind { kDirect, kUnnamed, kTemporary };
  OutputFile(std::string path, UniqueFd fd, Kind kind, std::string temporary, bool overwrite);
  Status publish();
  void give_up();

  std::string path_;
  UniqueFd fd_;
  Kind kind_;
  std::string temporary_;  // name until write() succeeds; empty for an unnamed file
  bool overwrite_;
  bool of_other_user_ = false;  // owner of the replaced file
  std::uint64_t size_ = 0;
};

}  // namespace labelscope::cli
