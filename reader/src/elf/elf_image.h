// One ELF file, opened to answer a few questions cheaply: does it have thread-local variables,
// where is a symbol, which relocations reach a thread-local variable.
//
// Section headers may be missing. So symbols are found by DT_GNU_HASH or DT_HASH, and relocations
// by PT_DYNAMIC. .symtab is only for symbols that the linker did not export. A question reads only
// the pages that it needs: to reject a file takes the ELF header, the program headers and a few
// words of the hash table. The file is read and never mapped: if it shrinks meanwhile, there is an
// error and no SIGBUS.
// Not thread-safe: one ElfImage per thread.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/dynamic_tables.h"
#include "elf/loaded_file.h"
#include "labelscope/elf_types.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class ElfImage {
 public:
  // Takes the descriptor. kMalformed: not an ELF file, or one that contradicts itself;
  // kUnsupported: not a 64-bit little-endian x86-64 or aarch64 executable or shared object.
  static Result<ElfImage> open(UniqueFd file);

  Machine machine() const { return machine_; }
  bool position_independent() const { return position_independent_; }  // ET_DYN
  // A program, not a library: ET_EXEC, or marked as PIE, or with an interpreter and without a name
  // for the loader (the libc has both).
  bool executable() const;
  const std::vector<LoadSegment>& load_segments() const { return file_.loads; }
  const std::optional<TlsSegment>& tls() const { return tls_; }
  // Link-time address of the dynamic section (l_ld of its link map minus the load bias).
  std::optional<std::uint64_t> dynamic_address() const { return dynamic_address_; }
  // Link-time address of the program headers (AT_PHDR minus the load bias), if they are loaded.
  std::optional<std::uint64_t> program_headers_address() const { return headers_address_; }

  // Looks in the hash tables; nullopt: no symbol has this name. It may find an imported symbol,
  // too, so look at `defined`. (DT_HASH has all imported symbols, DT_GNU_HASH only those of which a
  // program has a copy.)
  Result<std::optional<ElfSymbol>> find_dynamic_symbol(std::string_view name) const;
  // A linear search of .symtab for a defined symbol: slow on large files.
  Result<std::optional<ElfSymbol>> find_symtab_symbol(std::string_view name) const;

  // The same, of thread-local variables alone; several if they are static ones of several source
  // files, and none of that name is global.
  Result<std::vector<ElfSymbol>> find_symtab_thread_locals(std::string_view name) const;

  // Names of the thread-local variables that the file defines, as its two symbol tables have them,
  // each once; the first ones of very many, and none where a table cannot be read.
  std::vector<std::string> thread_local_names() const;

  // Link-time addresses of the functions that the file exports; the first ones of very many. Their
  // table ends where its strings begin, as linkers lay it out: in other files there are none.
  std::vector<std::uint64_t> exported_functions() const;

  // The same of .symtab, which is in no stripped file.
  std::vector<std::uint64_t> symtab_functions() const;

  // Whether there is such a table, whatever is in it.
  bool has_dynamic_symbols() const { return tables_.symbols != 0; }
  bool has_symtab() const;

  bool has_section_headers() const { return header_.e_shoff != 0; }
  // Link-time address of the section of this name; nullopt where there is none, or no telling.
  std::optional<std::uint64_t> section_address(std::string_view name) const;
  // Whether a note of this owner is loaded.
  bool has_note(std::string_view owner) const;
  // The address that is there after relocation, as a link-time address: in a file that may be loaded
  // anywhere, the relocation has it.
  std::optional<std::uint64_t> pointer_at(std::uint64_t vaddr) const;

  // Reads the bytes that are at this link-time address after loading and before relocation. Where
  // the file has none (.bss), they are zeros.
  Status read(std::uint64_t vaddr, std::span<std::byte> out) const;

  // Whether the program may write to this link-time address when the loader is done: in a writable
  // segment, and not in the part that becomes read-only after relocation (PT_GNU_RELRO). False
  // outside of every segment.
  bool stays_writable(std::uint64_t vaddr) const;

  // Every relocation by which code of this module may reach the thread-local variable `name`: those
  // that name it, and the symbol-less ones (whose base is this module's own TLS block). kLimit:
  // more than any linker writes.
  Result<std::vector<TlsRelocation>> tls_relocations(std::string_view name) const;

  // Lower-case hex of the GNU build ID note; empty if there is none.
  std::string build_id() const;

 private:
  Status read_headers();
  Status read_program_headers();
  // The content of each range of notes that is not impossibly long.
  template <class Use>
  void for_notes(Use use) const;
  // Hands out the table in pieces.
  template <class Use>
  Status for_relocations(std::uint64_t table, std::uint64_t size, Use use) const;
  // Whether the loader copies the symbol's value from another file's symbol of the same name.
  Result<bool> is_copy(const ElfSymbol& symbol) const;

  LoadedFile file_;
  Elf64_Ehdr header_{};
  Machine machine_{};
  bool position_independent_ = false;
  bool has_interpreter_ = false;
  std::vector<Elf64_Phdr> notes_;
  std::optional<TlsSegment> tls_;
  std::optional<Elf64_Phdr> relro_;
  std::optional<std::uint64_t> dynamic_address_;
  std::optional<std::uint64_t> headers_address_;
  DynamicTables tables_;
};

}  // namespace labelscope
