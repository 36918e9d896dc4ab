// Files by name: those that the command line names, and all below its directories.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

struct FoundFile {
  std::string path;
  bool named = false;  // on the command line
};

// The path without symbolic links: what a process that maps the file shows as its name, and what
// the ABI's expression is asked about. The path itself if it cannot be resolved.
std::string mapped_path(const std::string& path);

// Whether it starts as an ELF file does.
bool is_elf(const UniqueFd& file);

// Calls `use` for each regular file, with a descriptor that is open for reading; calls `problem`
// for what cannot be opened. Files that the command line names come first, each of them; then those
// below its directories, in the order of names, each inode once. Symbolic links to directories are
// followed only where the command line names them; links to files come after the files, so that a
// file below the same directory goes by its own name. What the kernel makes up (/proc, /sys) is
// neither listed nor opened.
struct FileWalk {
  std::function<void(const FoundFile&, UniqueFd)> use;
  std::function<void(const FoundFile&, Error)> problem;

  void run(const std::vector<std::string>& paths) const;
};

}  // namespace labelscope::cli
