// Opens debug files for the worker: only those that the user or the distribution has installed.
//
// The author of a program chose the name and the build ID of its debug file, and perhaps the folder
// of the program. So labelscope, which may be root, does not open the paths in these names, but
// only:
//
//   by build ID   in --debug-dir, below /usr/lib/debug
//   by name       in --debug-dir, and below it or /usr/lib/debug in a folder like the program's
//   by name       beside the program, in a folder that only root (or the user of labelscope) can
//                 change, and not through a link
//   all three     below the root of its process, if that is not ours (a container): there only
//                 in folders that could be changed by root alone, too, and through no link
//   by build ID   from debuginfod's servers, if the user has set DEBUGINFOD_URLS
//
// Only regular files are opened (elf/regular_file.h). Whether it is the right one, the worker
// checks; if it is not, the worker asks for what lies in the next place. What several files share
// (dwz(1), .gnu_debugaltlink) is looked for in the same way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/names/names_messages.h"
#include "cli/profile/process_root.h"
#include "cli/symbol/debug_packages.h"
#include "cli/symbol/debuginfod.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class DebugFiles {
 public:
  // Receives how much of the file at this path has come from a server: bytes, and of how many (0:
  // not known yet). Called about twenty times a second while a server is asked.
  using Downloading =
      std::function<void(const std::string& path, std::size_t done, std::size_t all)>;

  // `cancelled` and `downloading` may be empty.
  DebugFiles(std::vector<std::string> folders, std::function<bool()> cancelled,
             Downloading downloading = {});

  struct DebugFile {
    UniqueFd file;
    std::string text;  // its path; or why there is none, where more is to be said than that
    bool skipped_servers = false;  // there is none, but servers were not asked
  };
  enum class Servers { kToo, kNot };
  // For the program or library `file`, which its process names `path`. Never the file itself: a
  // debug link may have its name. `root`: that of its process; null if it is ours.
  DebugFile find(const WantedDebugFile& wanted, const std::string& path, const UniqueFd& file,
                 const ProcessRoot* root, Servers servers = Servers::kToo);
  // Returns a sentence about a file without debug information: where that was looked for, and what
  // would help.
  std::string remedy(const std::string& build_id, const std::string& path, const UniqueFd& file,
                     const ProcessRoot* root);

 private:
  class Search;
  void by_build_id(const std::string& build_id, Search& search) const;
  void by_name(const std::string& name, const std::string& path, Search& search) const;
  void shared_by_name(const std::string& name, Search& search) const;

  std::vector<std::string> given_;    // those of --debug-dir
  std::vector<std::string> folders_;  // and those of the system
  Debuginfod debuginfod_;
  Downloading downloading_;
  DebugPackages packages_;
};

}  // namespace labelscope::cli
