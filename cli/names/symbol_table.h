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

// A range of code from the section headers (or, without them, the program headers).
struct CodeRange {
  Address start = 0;
  Address end = 0;
  bool plt = false;  // stubs of the procedure linkage table, which have no symbols
};

// find() returns this for a stub. plt_names.h knows which function it is for.
inline constexpr std::string_view kPlt = "[plt]";

std::vector<CodeRange> code_ranges(Elf* elf, Address bias);

class SymbolTable {
 public:
  // Reads symbols of .symtab (of the file, its debug file, or .gnu_debugdata) or of .dynsym. Names
  // point into the module's memory. `complete` means that local functions are there too. Only then
  // may a symbol without a size reach up to the next one: in a stripped file it would give its name
  // to everything between.
  SymbolTable(Dwfl_Module* module, std::vector<CodeRange> ranges, bool complete, Budget& budget);
  // Reads the tables of the file itself, by libelf alone.
  SymbolTable(Elf* elf, std::vector<CodeRange> ranges, bool complete, Budget& budget);

  // Returns the empty text if no symbol covers `address`, and "[plt]" in the procedure linkage
  // table.
  // Of several names of one function that are equally good it is the first one by the alphabet, or
  // `preferred`, if that is among them.
  std::string_view find(Address address, std::string_view preferred = {}) const;
  bool empty() const { return entries_.empty() && unsized_.empty(); }

 private:
  struct Entry {
    Address start = 0;
    Address end = 0;
    const char* name = nullptr;
    std::uint8_t badness = 0;
    bool sized = false;
    bool typed = false;  // its type is "function"
    bool label = false;  // local, and without a type
  };
  using Entries = std::vector<Entry>;
  static Entries::const_iterator first_after(const Entries& entries, Address address);
  const CodeRange* range_of(Address address) const;
  std::string_view name_of(const Entry& entry, std::string_view preferred) const;
  void add(const GElf_Sym& symbol, Address address, const char* name);
  void add_section(Elf* elf, Elf_Scn* section, Budget& budget);
  void finish(bool complete);
  void keep_one_each();
  void drop_labels();
  void end_unsized();

  std::vector<CodeRange> ranges_;
  Entries entries_;  // symbols with a size; both are sorted
  Entries unsized_;  // symbols without one, if all symbols are there
  Entries equals_;   // names that are as good as those of their functions in the two above; sorted
};

}  // namespace labelscope::cli
