// The function symbols of one ELF file, sorted once. libdwfl's own look-up scans all symbols for
// every address, which for a large library and a long profile takes minutes.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/names/budget.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// A range of code as the section headers (or, without them, the program headers) tell it.
struct CodeRange {
  Address start = 0;
  Address end = 0;
  bool plt =
      false;  // stubs of the procedure linkage table: no symbols, but known for what they are
};

std::vector<CodeRange> code_ranges(Elf* elf, Address bias);

class SymbolTable {
 public:
  // Symbols of .symtab (of the file, its debug file, or .gnu_debugdata) or of .dynsym. Names point
  // into the module's memory. `complete`: local functions are there too. Only then may a symbol
  // without a size reach up to the next one: in a stripped file it would give its name to all that
  // is in between.
  SymbolTable(Dwfl_Module* module, std::vector<CodeRange> ranges, bool complete, Budget& budget);
  // Of the tables of the file itself, by libelf alone.
  SymbolTable(Elf* elf, std::vector<CodeRange> ranges, bool complete, Budget& budget);

  // Empty if no symbol covers `address`; "[plt]" in the procedure linkage table.
  std::string_view find(Address address) const;
  bool empty() const { return entries_.empty() && unsized_.empty(); }

 private:
  struct Entry {
    Address start = 0;
    Address end = 0;
    const char* name = nullptr;
    std::uint8_t badness = 0;
    bool sized = false;
    bool typed = false;  // it says that it is a function
    bool label = false;  // local, and of no type
  };
  using Entries = std::vector<Entry>;
  static Entries::const_iterator first_after(const Entries& entries, Address address);
  const CodeRange* range_of(Address address) const;
  void add(const GElf_Sym& symbol, Address address, const char* name);
  void add_section(Elf* elf, Elf_Scn* section, Budget& budget);
  void finish(bool complete);
  void keep_one_each();
  void drop_labels();
  void end_unsized();

  std::vector<CodeRange> ranges_;
  Entries entries_;  // with a size; sorted, as are
  Entries unsized_;  // those without, if all symbols are there
};

}  // namespace labelscope::cli
