// One ELF file, opened to answer a few questions cheaply: does it have thread-local variables,
// where is a symbol, which relocations reach a thread-local variable.
//
// Section headers may be missing. So symbols are found by DT_GNU_HASH or DT_HASH, and relocations
// by PT_DYNAMIC. .symtab is only for symbols that the linker did not export. A question reads only
// the pages that it needs: to reject a file takes the ELF header, the program headers and a few
// words of the hash table. The file is read and never mapped: if it shrinks meanwhile, there is an
// error and no SIGBUS.
//
// Sources: System V gABI chapters 4 and 5; psABI x86-64 section 4.4; ELF for the Arm 64-bit
// architecture section 5.7. Not thread-safe: one ElfImage per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

enum class Machine { kX86_64, kAarch64 };

struct LoadSegment {
  std::uint64_t vaddr = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  bool executable = false;
  bool writable = false;  // by its flags; see ElfImage::stays_writable()
};

// The load bias, runtime address minus link-time address, where a loader has mapped code of one of
// these segments from `file_offset` to `start`. nullopt: no segment has code there.
std::optional<std::uint64_t> load_bias_at(const std::vector<LoadSegment>& segments,
                                          std::uint64_t start, std::uint64_t file_offset);

// PT_TLS: the template of the module's TLS block.
struct TlsSegment {
  std::uint64_t vaddr = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 1;  // a power of two
};

enum class SymbolTable { kDynamic, kSymtab };

struct ElfSymbol {
  std::uint64_t value = 0;  // link-time address; for a thread-local symbol, offset in the TLS block
  std::uint64_t size = 0;
  std::uint32_t index = 0;      // in its table
  std::uint8_t type = 0;        // STT_*
  std::uint8_t binding = 0;     // STB_*
  std::uint8_t visibility = 0;  // STV_*
  bool defined = false;         // false: this file only imports it
  SymbolTable table = SymbolTable::kDynamic;
};

enum class TlsRelocationKind {
  kTlsDesc,  // R_X86_64_TLSDESC, R_AARCH64_TLSDESC: {resolver, argument}
  kDtpMod,   // R_X86_64_DTPMOD64, R_AARCH64_TLS_DTPMOD: module ID, followed by the offset
  kTpOff,    // R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL: offset from the thread pointer
};

struct TlsRelocation {
  TlsRelocationKind kind{};
  std::uint64_t slot =
      0;  // link-time address of the word (or first of two words) that is relocated
  std::int64_t addend = 0;
  bool by_name =
      false;  // names the variable; otherwise symbol-less: the module's own block plus addend
};

class ElfImage {
 public:
  // Takes the descriptor. kMalformed: not an ELF file, or one that contradicts itself;
  // kUnsupported: not a 64-bit little-endian x86-64 or aarch64 executable or shared object.
  static Result<ElfImage> open(UniqueFd file);
  ElfImage(ElfImage&&) noexcept;
  ElfImage& operator=(ElfImage&&) noexcept;
  ~ElfImage();

  Machine machine() const;
  bool position_independent() const;  // ET_DYN
  // A program, not a library: ET_EXEC, or marked as PIE, or with an interpreter and without a name
  // for the loader (the libc has both).
  bool executable() const;
  const std::vector<LoadSegment>& load_segments() const;
  const std::optional<TlsSegment>& tls() const;
  // Link-time address of the dynamic section (l_ld of its link map minus the load bias).
  std::optional<std::uint64_t> dynamic_address() const;
  // Link-time address of the program headers (AT_PHDR minus the load bias), if they are loaded.
  std::optional<std::uint64_t> program_headers_address() const;

  // Looks in the hash tables; nullopt: no symbol has this name. It may find an imported symbol,
  // too, so look at `defined`. (DT_HASH has all imported symbols, DT_GNU_HASH only those of which a
  // program has a copy.)
  Result<std::optional<ElfSymbol>> find_dynamic_symbol(std::string_view name) const;
  // A linear search of .symtab for a defined symbol: slow on large files.
  Result<std::optional<ElfSymbol>> find_symtab_symbol(std::string_view name) const;

  // Whether there is such a table, whatever is in it.
  bool has_dynamic_symbols() const;
  bool has_symtab() const;

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
  class Impl;
  explicit ElfImage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace labelscope
