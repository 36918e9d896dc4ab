// This finds the TLS recipe for one thread-local variable of a module, from the relocations in its
// file and the words that the loader has put into their slots.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/plan_trace.h"
#include "labelscope/preset_plan.h"
#include "labelscope/target.h"
#include "labelscope/tls_recipe.h"
#include "process/modules.h"
#include "recipe/libc_tls.h"

namespace labelscope {

struct AccessPlan {
  AccessModel model = AccessModel::kUnresolved;
  ls_tls_recipe recipe{};
  std::vector<Finding> findings;  // why there is no recipe
  // Why the module is no publisher after all (of a source that finds this out last).
  std::optional<Finding> refused{};
  std::string named{};  // Publisher::named, if reaching it has given it a name
  PresetPlans presets{};  // the one that the recipe names
};

// The fix if a core file lacks memory that is needed.
inline constexpr const char* kWholeCore =
    "make a core file with all private memory: no limit on its size, and bit 0 of coredump_filter";

// Returns the recipe of a variable at this distance from each thread's pointer.
inline ls_tls_recipe tp_offset(std::int64_t offset) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = offset;
  return recipe;
}

// `relocations` are all relocations of the file, or why they cannot be read; they are not needed
// for the main executable. The function calls `libc` only when the recipe depends on it (never for
// the main executable). If `trace` is not null, it fills its slots and its record.
AccessPlan plan_access(const Module& module, bool main_executable, const ElfSymbol& variable,
                       Result<std::vector<TlsRelocation>> relocations,
                       const std::function<const LibcTls&()>& libc, const Target& target,
                       ModuleTrace* trace);

}  // namespace labelscope
