// A trace keeps what happened when a recipe was applied to one thread, for explain/ only. locate()
// is this function with a null trace, so both take the same way.
#pragma once

#include <cstdint>
#include <optional>

#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// Each value as it was read; nullopt if it was not needed, or could not be read.
struct LocateTrace {
  std::optional<Address> dtv;
  std::optional<std::uint64_t> length;
  std::optional<std::uint64_t> generation;
  std::optional<Address> block;
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory,
               LocateTrace* trace);

}  // namespace labelscope
