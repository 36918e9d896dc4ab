// PT_DYNAMIC leads to these tables: the dynamic symbols with their hash tables, and the
// relocations.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "elf/loaded_file.h"
#include "labelscope/result.h"

namespace labelscope {

struct DynamicTables {
  // Link-time addresses and sizes; 0 if there is none.
  std::uint64_t gnu_hash = 0, hash = 0, symbols = 0, strings = 0, strings_size = 0;
  std::uint64_t rela = 0, rela_size = 0, plt_rela = 0, plt_rela_size = 0;
  // Of the functions that the loader calls.
  std::uint64_t init = 0, fini = 0;
  std::uint64_t init_array = 0, init_array_size = 0, fini_array = 0, fini_array_size = 0;
  bool has_soname = false;  // set by DT_SONAME, which a library has
  bool is_pie = false;      // set by DF_1_PIE, with which linkers mark an executable since 2018

  // Reads them from the bytes of the dynamic section.
  static Result<DynamicTables> read(const LoadedFile& file, std::uint64_t offset,
                                    std::uint64_t size);

  Result<Elf64_Sym> symbol(const LoadedFile& file, std::uint64_t index) const;
  // Returns whether `sym` has this name.
  Result<bool> named(const LoadedFile& file, const Elf64_Sym& sym, std::string_view name) const;
  // Returns the index of the symbol, found by either hash table; nullopt if there is none of that
  // name.
  Result<std::optional<std::uint32_t>> look_up(const LoadedFile& file, std::string_view name) const;

 private:
  Result<std::optional<std::uint32_t>> look_up_gnu(const LoadedFile& file,
                                                   std::string_view name) const;
  Result<std::optional<std::uint32_t>> look_up_sysv(const LoadedFile& file,
                                                    std::string_view name) const;
};

}  // namespace labelscope
