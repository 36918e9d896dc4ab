// The name of a function by DWARF: its linkage name or, for functions that have none (those of
// unnamed namespaces, lambdas, C), its own name behind those of the namespaces and classes around
// it.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>

#include "cli/names/budget.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// Names and paths are cut here; a hostile string section may be one name of a gigabyte.
inline constexpr std::size_t kMaxDwarfText = 65536;

inline std::string dwarf_text(const char* text) {
  return text == nullptr ? std::string() : std::string(text, strnlen(text, kMaxDwarfText));
}

// Moves to the next sibling; returns false at the last one, or if DW_AT_sibling leads backwards.
inline bool next_sibling(Dwarf_Die& die) {
  Dwarf_Off before = dwarf_dieoffset(&die);
  return dwarf_siblingof(&die, &die) == 0 && dwarf_dieoffset(&die) > before;
}

// Returns whether names of what is inside such an entry begin with the entry's own name.
bool is_named_scope(int tag);

class DwarfNames {
 public:
  explicit DwarfNames(Budget& budget) : budget_(budget) {}

  // Fills line.system_name, and line.function if demangling system_name does not give it.
  void fill(Dwarf_Die function, SourceLine& line);

 private:
  std::string scopes_around(Dwarf_Die target);

  Budget& budget_;
  // To find what is around an entry, its unit must be walked from the top. This keeps the result
  // for each function.
  std::unordered_map<Dwarf_Off, std::string> qualified_;
};

}  // namespace labelscope::cli
