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

class UnitIndex;

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

  // Fills line.system_name, and line.function if demangling system_name does not give it. `unit` is
  // that of the function, or of the call into which it was inlined.
  void fill(Dwarf_Die function, const UnitIndex& unit, SourceLine& line);

 private:
  struct Name {
    SharedText system_name;
    SharedText function;
  };
  // `cu`: what libdw calls the unit of the index.
  Name name_of(Dwarf_Die function, const Dwarf_CU* cu, const UnitIndex& unit);
  std::string scopes_in_unit(Dwarf_Die& target, const UnitIndex& unit);
  std::string scopes_around(Dwarf_Die target);

  Budget& budget_;
  // One function is inlined into many others. This keeps its name, by where its entry
  // is in memory: it may be in debug information that several files share.
  std::unordered_map<const void*, Name> names_;
};

}  // namespace labelscope::cli
