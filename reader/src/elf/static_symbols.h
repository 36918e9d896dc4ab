// These are the symbols of .symtab, which are not loaded. They are found by section headers, which
// may be missing, damaged or wrong.
//
// Symbols are looked up by reading the strings once, for the places where the name stands, and then
// the symbols once, for one that points there: two pieces of fixed size are in memory, however
// large the tables are or claim to be.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/loaded_file.h"
#include "labelscope/elf_types.h"

namespace labelscope {

// Offsets in the file. If there are several such tables, which no linker writes, this is the first.
struct StaticSymbols {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t strings = 0;
  std::uint64_t strings_size = 0;

  // Returns nullopt if the file has none, or no section headers that can be read. Fails with kLimit
  // if it claims more sections than any linked file has, and with kMalformed if a table has no
  // strings. `type` is SHT_DYNSYM for the section of the dynamic symbols, which are loaded.
  static Result<std::optional<StaticSymbols>> find(const LoadedFile& file, const Elf64_Ehdr& header,
                                                   std::uint32_t type = SHT_SYMTAB);
  // Finds a defined symbol, a global one rather than a local one. Fails with kMalformed if a table
  // lies outside of the file, and with kLimit if it is impossibly large.
  Result<std::optional<ElfSymbol>> look_up(const LoadedFile& file, std::string_view name) const;
  // Finds the defined variables of that name and type (STT_TLS or STT_OBJECT): only the global one
  // if there is one, else all local ones (static variables of several source files) at different
  // places. The errors are the same.
  Result<std::vector<ElfSymbol>> look_up_variables(const LoadedFile& file, std::string_view name,
                                                   std::uint8_t type) const;
  // Adds the names of defined thread-local symbols, as far as they can be read: a few thousand, and
  // none that is very long.
  void list_thread_locals(const LoadedFile& file, std::vector<std::string>& names) const;
  // Returns link-time addresses of the functions that are defined, as far as they can be read.
  std::vector<std::uint64_t> functions(const LoadedFile& file) const;

 private:
  // Calls `use` for each defined symbol and its index, until it returns false. Returns false if not
  // all can be read.
  template <class Use>
  bool for_all(const LoadedFile& file, Use use) const;
  // Calls `use` for each defined symbol of that name, until it returns true.
  template <class Use>
  Status for_each(const LoadedFile& file, std::string_view name, Use use) const;
};

ElfSymbol to_symbol(const Elf64_Sym& sym, std::uint32_t index, SymbolTable table);

}  // namespace labelscope
