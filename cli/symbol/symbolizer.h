// Names for addresses: libdwfl for files (function, file, line, inlined functions), /proc/kallsyms
// for the kernel, libiberty to demangle C++ and Rust.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// An open file of a module: opened early, while the target lives, so that replaced or deleted files
// and those of containers are still the ones that the target ran. Null where it could not be
// opened.
using ModuleFile = std::shared_ptr<UniqueFd>;

struct SymbolizerOptions {
  bool inlined = true;
  // Asked now and then; true stops early and leaves the rest without names (second Ctrl-C).
  std::function<bool()> cancelled;
  // Called with (locations done, locations in all).
  std::function<void(std::size_t, std::size_t)> progress;
};

// Fills Location::lines of every location, ProfileModule::build_id where the file tells it, and
// ProfileModule::symbol_problem where names are missing. `files` is parallel to profile.modules.
// A location whose name cannot be found keeps no lines. Never fails as a whole.
void symbolize(Profile& profile, const std::vector<ModuleFile>& files,
               const SymbolizerOptions& options);

// C++ (Itanium), Rust (legacy and v0), else the name as it is. Bounded on hostile names.
std::string demangle(std::string_view mangled);

}  // namespace labelscope::cli
