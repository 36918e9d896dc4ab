// The folder where the paths of a process begin. In a container it is another one than ours, with
// files of its own below the same names. It is opened while the process lives, and held as long as
// something is to be looked for there: files of an image stay when the process has ended.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "labelscope/target.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

struct ProcessRoot {
  UniqueFd folder;   // O_PATH
  std::string path;  // as we see it; "/" if it is not below our own root

  // Returns the path within this root of what the kernel shows us as `path`: it leaves out a root
  // that is none of the same mount.
  std::string inside(const std::string& shown) const;
};

// Each root once.
class ProcessRoots {
 public:
  // Returns null for our own root, for a core, and if it cannot be opened.
  std::shared_ptr<const ProcessRoot> of(const Target& process);

 private:
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<const ProcessRoot>> known_;
};

}  // namespace labelscope::cli
