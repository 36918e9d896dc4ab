// Profiles for tests, with modules as the dynamic linker of this process reports them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/symbol/symbolizer.h"
#include "support/forked_worker.h"

namespace labelscope::cli {

// One module of this process, with the executable range and the load bias by the dynamic linker.
struct LoadedModule {
  ProfileModule module;
  ModuleFile file;
};

ModuleFile open_module_file(const std::string& path);
// Returns the module that holds `address`; its path is empty if there is none.
LoadedModule module_at(std::uint64_t address);

// Returns options for naming by a worker that is a fork of the test.
FileNamer::Options honest_naming();
// Makes a profile with one module and these addresses, and symbolizes it.
Profile symbolize_addresses(const LoadedModule& loaded, const std::vector<std::uint64_t>& addresses,
                            const SymbolizerOptions& options = {},
                            FileNamer::Options naming = honest_naming());

}  // namespace labelscope::cli
