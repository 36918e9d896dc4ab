// Finds files by name: those that the command line names, and all below its directories.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

struct FoundFile {
  std::string path;
  bool named = false;  // named on the command line
};

// Returns the path without symbolic links: a process that maps the file shows it by this name, and
// the ABI's expression is matched against it. It is the path itself if it cannot be resolved.
std::string mapped_path(const std::string& path);

// Returns whether it begins as an ELF file does.
bool is_elf(const UniqueFd& file);

// Calls `use` for each regular file, with a descriptor that is open for reading; calls `problem`
// for what cannot be opened. All files that the command line names come first; then those below its
// directories, in the order of names, each inode once. Symbolic links to directories are followed
// only if the command line names them. Links to files come after the files, so that a file below
// the same directory appears under its own name. File systems that the kernel makes up (/proc,
// /sys) are neither listed nor opened.
struct FileWalk {
  std::function<void(const FoundFile&, UniqueFd)> use;
  std::function<void(const FoundFile&, Error)> problem;

  void run(const std::vector<std::string>& paths) const;
};

}  // namespace labelscope::cli
