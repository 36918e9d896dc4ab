// An ElfImage is one ELF file, opened to answer a few questions cheaply: does it have thread-local
// variables, where is a symbol, which relocations reach a thread-local variable.
//
// Section headers may be missing. So symbols are found by DT_GNU_HASH or DT_HASH, and relocations
// by PT_DYNAMIC. .symtab is only for symbols that the linker did not export. A question reads only
// the pages that it needs: rejecting a file takes the ELF header, the program headers and a few
// words of the hash table. The file is read and never mapped: if it shrinks meanwhile, there is an
// error and no SIGBUS. An ElfImage is not thread-safe: use one for each thread.
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
  // Takes the descriptor. Fails with kMalformed if this is not an ELF file, or one that contradicts
  // itself, and with kUnsupported if it is not a 64-bit little-endian x86-64 or aarch64 executable
  // or shared object.
  static Result<ElfImage> open(UniqueFd file);

  Machine machine() const { return machine_; }
  bool position_independent() const { return position_independent_; }  // ET_DYN
  // Returns true for a program and not a library: ET_EXEC, or marked as PIE, or with an interpreter
  // and without a name for the loader (the libc has both).
  bool executable() const;
  const std::vector<LoadSegment>& load_segments() const { return file_.loads; }
  const std::optional<TlsSegment>& tls() const { return tls_; }
  // Returns the link-time address of the dynamic section (l_ld of its link map minus the load
  // bias).
  std::optional<std::uint64_t> dynamic_address() const { return dynamic_address_; }
  // Returns the link-time address of the program headers (AT_PHDR minus the load bias), if they are
  // loaded.
  std::optional<std::uint64_t> program_headers_address() const { return headers_address_; }

  // Looks in the hash tables. Returns nullopt if no symbol has this name. It may find an imported
  // symbol, too, so check `defined`. (DT_HASH has all imported symbols, DT_GNU_HASH only those of
  // which a program has a copy.)
  Result<std::optional<ElfSymbol>> find_dynamic_symbol(std::string_view name) const;
  // Searches .symtab from its start for a defined symbol, which is slow on large files.
  Result<std::optional<ElfSymbol>> find_symtab_symbol(std::string_view name) const;

  // Does the same for variables of one type, STT_TLS or STT_OBJECT. It returns several if they are
  // static variables of several source files, and none of that name is global.
  Result<std::vector<ElfSymbol>> find_symtab_variables(std::string_view name,
                                                       std::uint8_t type) const;

  // Returns the names of the thread-local variables that the file defines in its two symbol tables,
  // each once: only the first ones of very many, and none if a table cannot be read.
  std::vector<std::string> thread_local_names() const;

  // Returns link-time addresses of the functions that the file exports, only the first ones of very
  // many. It requires that their table ends where its strings begin, as linkers lay it out; for
  // other files it returns none.
  std::vector<std::uint64_t> exported_functions() const;

  // Does the same for .symtab, which no stripped file has.
  std::vector<std::uint64_t> symtab_functions() const;

  // Returns link-time addresses of the functions that the loader calls before and after all others
  // (DT_INIT, DT_INIT_ARRAY, DT_FINI, DT_FINI_ARRAY), only the first ones of very many. Every file
  // has them, but no symbols for them when it has been stripped.
  std::vector<std::uint64_t> loader_functions() const;

  // Returns whether there is such a table, whatever is in it.
  bool has_dynamic_symbols() const { return tables_.symbols != 0; }
  bool has_symtab() const;

  bool has_section_headers() const { return header_.e_shoff != 0; }
  // Returns the link-time address of the section of this name; nullopt if there is none, or if it
  // is not known.
  std::optional<std::uint64_t> section_address(std::string_view name) const;
  // Returns whether a note of this owner is loaded.
  bool has_note(std::string_view owner) const;
  // Returns the address that is there after relocation, as a link-time address. In a file that may
  // be loaded anywhere, the relocation has it.
  std::optional<std::uint64_t> pointer_at(std::uint64_t vaddr) const;

  // Reads the bytes that are at this link-time address after loading and before relocation. If the
  // file has none (.bss), they are zeros.
  Status read(std::uint64_t vaddr, std::span<std::byte> out) const;

  // Returns whether the program may write to this link-time address when the loader is done: it is
  // in a writable segment, and not in the part that becomes read-only after relocation
  // (PT_GNU_RELRO). Returns false outside of every segment.
  bool stays_writable(std::uint64_t vaddr) const;

  // Returns every relocation by which code of this module may reach the thread-local variable
  // `name`: those that name it, and the symbol-less ones (whose base is this module's own TLS
  // block). Fails with kLimit if there are more than any linker writes.
  Result<std::vector<TlsRelocation>> tls_relocations(std::string_view name) const;

  // Returns the GNU build ID note in lower-case hex; nothing if there is none.
  std::string build_id() const;

 private:
  Status read_headers();
  Status read_program_headers();
  // Hands out the content of each range of notes that is not impossibly long.
  template <class Use>
  void for_notes(Use use) const;
  // Hands out the table in pieces.
  template <class Use>
  Status for_relocations(std::uint64_t table, std::uint64_t size, Use use) const;
  // Returns whether the loader copies the symbol's value from another file's symbol of the same
  // name.
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
