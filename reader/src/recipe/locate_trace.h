// What applying a recipe to one thread met on its way, kept only if somebody asks (explain/).
// locate() is this function with a null trace: one way through, told or not.
#pragma once

#include <cstdint>
#include <optional>

#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// Each value as it was read; nullopt: not asked for, or it could not be read.
struct LocateTrace {
  std::optional<Address> dtv;
  std::optional<std::uint64_t> length;
  std::optional<std::uint64_t> generation;
  std::optional<Address> block;
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory,
               LocateTrace* trace);

}  // namespace labelscope
