// Profiles for tests: modules as the dynamic linker of this process knows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/symbol/symbolizer.h"
#include "support/forked_worker.h"

namespace labelscope::cli {

// One module of this process, with the executable range and the load bias that the linker tells.
struct LoadedModule {
  ProfileModule module;
  ModuleFile file;
};

ModuleFile open_module_file(const std::string& path);
// The module that holds `address`; an empty path if none does.
LoadedModule module_at(std::uint64_t address);

// By a worker that is a fork of the test.
FileNamer::Options honest_naming();
// A profile with one module and these addresses, symbolized.
Profile symbolize_addresses(const LoadedModule& loaded, const std::vector<std::uint64_t>& addresses,
                            const SymbolizerOptions& options = {},
                            FileNamer::Options naming = honest_naming());

}  // namespace labelscope::cli
