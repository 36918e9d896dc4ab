// Names for addresses: libdwfl for files (function, file, line, inlined functions), /proc/kallsyms
// for the kernel, libiberty to demangle C++ and Rust.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"
#include "cli/symbol/kernel_symbols.h"

namespace labelscope::cli {

struct SymbolizerOptions {
  bool inlined = true;
  // Called now and then. True ends the work early and leaves the rest without names (second
  // Ctrl-C).
  std::function<bool()> cancelled;
  // The names of the kernel, if somebody has begun to read them already.
  std::shared_future<Result<KernelSymbols>> kernel;
  // Called with (locations done, locations in all).
  std::function<void(std::size_t, std::size_t)> progress;
};

// Fills Location::lines of every location, ProfileModule::build_id where the file tells it, and
// ProfileModule::symbol_problem where names are missing. `files` is parallel to profile.modules.
// A location whose name cannot be found keeps no lines. Never fails as a whole.
void symbolize(Profile& profile, const std::vector<ModuleFile>& files,
               const SymbolizerOptions& options);

// Demangles C++ (Itanium) and Rust (legacy and v0). Other names stay as they are. Hostile names
// cost bounded time and memory.
std::string demangle(std::string_view mangled);

}  // namespace labelscope::cli
