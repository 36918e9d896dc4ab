// .symtab, the symbols that are not loaded: found by section headers, which may be missing, damaged
// or lies.
//
// Symbols are looked up by reading the strings once, for the places where the name stands, and then
// the symbols once, for one that points there: two pieces of fixed size are in memory, however
// large the tables are or claim to be.
#pragma once

#include <elf.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/loaded_file.h"
#include "labelscope/elf_types.h"

namespace labelscope {

// Offsets in the file. Of several such tables, which no linker writes, the first.
struct StaticSymbols {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t strings = 0;
  std::uint64_t strings_size = 0;

  // nullopt: the file has none, or no section headers that can be read. kLimit: it claims more
  // sections than any linked file has; kMalformed: a table without strings.
  // `type`: SHT_DYNSYM for the section of the dynamic symbols, which are loaded.
  static Result<std::optional<StaticSymbols>> find(const LoadedFile& file, const Elf64_Ehdr& header,
                                                   std::uint32_t type = SHT_SYMTAB);
  // A defined symbol, a global one rather than a local one. kMalformed: a table lies outside of the
  // file; kLimit: it is impossibly large.
  Result<std::optional<ElfSymbol>> look_up(const LoadedFile& file, std::string_view name) const;
  // Defined thread-local symbols of that name: the global one alone where there is one, else all
  // local ones (static variables of several source files) that stand at different places. Errors as
  // above.
  Result<std::vector<ElfSymbol>> look_up_thread_locals(const LoadedFile& file,
                                                       std::string_view name) const;
  // Adds the names of defined thread-local symbols, as far as they can be read: some thousand, and
  // none that is very long.
  void list_thread_locals(const LoadedFile& file, std::vector<std::string>& names) const;
  // Link-time addresses of the functions that are defined, as far as they can be read.
  std::vector<std::uint64_t> functions(const LoadedFile& file) const;

 private:
  // Calls `use` for each symbol, as far as they can be read.
  template <class Use>
  void for_all(const LoadedFile& file, Use use) const;
  // Calls `use` for each defined symbol of that name, until it returns true.
  template <class Use>
  Status for_each(const LoadedFile& file, std::string_view name, Use use) const;
};

ElfSymbol to_symbol(const Elf64_Sym& sym, std::uint32_t index, SymbolTable table);

}  // namespace labelscope
