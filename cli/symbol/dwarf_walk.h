// What every walk over hostile DWARF needs: steps that only go forward, and text with a bound.
#pragma once

#include <elfutils/libdw.h>

#include <cstring>
#include <string>

namespace labelscope::cli {

// Names and paths are cut here; a hostile string section may be one name of a gigabyte.
inline constexpr std::size_t kMaxDwarfText = 65536;

inline std::string dwarf_text(const char* text) {
  return text == nullptr ? std::string() : std::string(text, strnlen(text, kMaxDwarfText));
}

// Moves to the next sibling; false at the last one, and where DW_AT_sibling leads backwards.
inline bool next_sibling(Dwarf_Die& die) {
  Dwarf_Off before = dwarf_dieoffset(&die);
  return dwarf_siblingof(&die, &die) == 0 && dwarf_dieoffset(&die) > before;
}

}  // namespace labelscope::cli
