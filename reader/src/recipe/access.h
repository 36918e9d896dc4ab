// One publisher's variable: from its relocations and the loader's live words to a TlsRecipe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labelscope/plan.h"
#include "process/modules.h"
#include "recipe/libc_tls.h"

namespace labelscope {

struct AccessPlan {
  AccessModel model = AccessModel::kUnresolved;
  ls_tls_recipe recipe{};
  std::vector<Finding> findings;
};

// What to do about memory that a core file lacks.
inline constexpr const char* kWholeCore =
    "make a core file with all private memory: no limit on its size, and bit 0 of coredump_filter";

// `libc` is asked only when the answer depends on it (not for the main executable). `trace` may be
// null; otherwise its slots and its record are filled.
AccessPlan plan_access(const Module& module, bool main_executable, const ElfSymbol& variable,
                       const std::function<const LibcTls&()>& libc, const Target& target,
                       ModuleTrace* trace);

}  // namespace labelscope
