// Names for addresses: for files by libdwfl (function, file, line, inlined functions), in a process
// of its own (file_namer.h), and for the kernel by /proc/kallsyms.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/symbol/early_names.h"
#include "cli/symbol/file_namer.h"
#include "cli/symbol/kernel_symbols.h"

namespace labelscope::cli {

struct SymbolizerOptions {
  bool inlined = true;
  // Called at least fifty times a second. True ends the work early and leaves the rest without
  // names (Ctrl-C).
  std::function<bool()> cancelled;
  // Names that were found already. May be null.
  EarlyNames* early = nullptr;
  // The names of the kernel, if reading them has begun already.
  std::shared_future<Result<KernelSymbols>> kernel;
  // Called with (locations done, locations in all).
  std::function<void(std::size_t, std::size_t)> progress;
};

// Fills Location::lines of every location, ProfileModule::build_id if the file has one, and
// ProfileModule::symbol_problem if names are missing. `files` is parallel to profile.modules. A
// location whose name cannot be found keeps no lines, and those that were named before keep what
// they have. Never fails as a whole.
void symbolize(Profile& profile, const std::vector<ModuleFile>& files, FileNamer& namer,
               const SymbolizerOptions& options);

}  // namespace labelscope::cli
