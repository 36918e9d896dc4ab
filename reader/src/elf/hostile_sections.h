// These functions check what a file claims about its sections, before libelf believes it: their
// number, and the size of those that a linker has compressed.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labelscope/result.h"

namespace labelscope {

// No linked file has nearly so many; object files may have more, but are never loaded.
constexpr std::uint64_t kMaxSections = 65536;

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

// Checks how many sections the file claims to have. elf_begin(3) allocates some hundred bytes for
// each. The number is 16 bits wide, or else a 64-bit word that only the file's size bounds, and a
// file full of holes may have any size. The check reads every class and byte order, as libelf does.
// Source: System V gABI chapter 4, "ELF Header".
//
// Fails with kLimit if there are more than any linked file has. A file that is not ELF passes:
// libelf refuses it itself. The caller keeps the descriptor. It is thread-safe.
Status check_section_count(int file);

// Unpacks a section that a linker has compressed (SHF_COMPRESSED): a header with the size, then the
// bytes. Fails with kLimit if the section claims to be larger than `most` bytes, and then unpacks
// nothing. Fails with kUnsupported if libelf cannot unpack it (another algorithm than zlib's, or
// bytes that are not compressed). Source: gABI chapter 4, "Section Compression".
Result<std::vector<std::byte>> unpack_section(std::span<const std::byte> packed,
                                              std::uint64_t most);

}  // namespace labelscope
