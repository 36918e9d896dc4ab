// From a thread pointer to the address of the variable: a TlsRecipe applied, three reads at most.
#pragma once

#include <optional>

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

struct Located {
  std::optional<Address> address;      // of the pointer to the label set
  ls_outcome outcome = LS_UNLABELLED;  // why there is no address; meaningless if there is one
  std::uint32_t flags = 0;             // LS_NEVER_TOUCHED
};

Located locate(const ls_tls_recipe& recipe, Address thread_pointer, const MemorySource& memory);

}  // namespace labelscope
