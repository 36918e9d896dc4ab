// Variables that the user has named: where they are in a module's file, and what there is where they
// are not.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "labelscope/plan.h"
#include "process/modules.h"

namespace labelscope {

// One that the module has. Its recipe is still to be made.
struct NamedVariable {
  std::size_t spec = 0;  // index of it
  ElfSymbol symbol;
  std::optional<Finding> refused;  // it cannot be read in this module
};

// Of this module. Looks at the dynamic symbols; at .symtab if the module has thread-local variables
// at all.
Result<std::vector<NamedVariable>> find_variables(std::span<const VariableSpec> specs,
                                                  const Module& module);

// Thread-local variables that the file's symbol tables name, each once.
ThreadLocalNames thread_local_names(const Module& module, std::size_t most);
// Names that are kept of all files of a process together: each is compared with what is missing.
inline constexpr std::size_t kMostNames = 5000;

// Why nothing is read for a variable that no module has, with those that are most like it.
Finding missing_variable(const VariableSpec& spec, std::span<const ThreadLocalNames* const> there);

// The parameters of the recipe.
void set_parameters(const VariableSpec& spec, std::size_t index, ls_tls_recipe& recipe);

}  // namespace labelscope
