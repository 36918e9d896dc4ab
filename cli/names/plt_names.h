// This names the entries of the procedure linkage table (PLT), which have no symbols: an entry that
// jumps to printf() is "printf@plt". Debuggers and perf use the same names.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/names/budget.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

class PltNames {
 public:
  PltNames() = default;
  // Reads relocations and code of the file. Entries whose slot has no relocation with a symbol are
  // left out.
  PltNames(Elf* elf, Budget& budget);

  // Returns the name of the entry at a link-time address; empty if there is none.
  std::string_view find(Address address) const;

 private:
  struct Entry {
    Address start = 0;
    Address end = 0;
    std::string name;
  };
  void add_section(Elf_Scn* section, const GElf_Shdr& header, bool is_x86, Budget& budget);

  struct Slot {
    Address address = 0;  // where the loader puts the function's address
    const char* name = nullptr;
  };
  std::vector<Slot> slots_;     // sorted
  std::vector<Entry> entries_;  // sorted
};

}  // namespace labelscope::cli
