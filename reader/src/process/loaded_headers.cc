// These are bytes of a target: any number may be wrong.
#include "process/loaded_headers.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/pages.h"
#include "elf/elf_note.h"

namespace labelscope {
namespace {

// Real files have some ten.
constexpr std::uint16_t kMaxProgramHeaders = 256;
constexpr std::uint64_t kMaxNotes = 64 << 10;

std::string build_id_of(const MemorySource& dumped, Address bias,
                        const std::vector<Elf64_Phdr>& headers) {
  for (const Elf64_Phdr& ph : headers) {
    if (ph.p_type != PT_NOTE || ph.p_filesz > kMaxNotes) continue;
    std::vector<std::byte> notes(ph.p_filesz);
    if (!dumped.read(bias + ph.p_vaddr, notes)) continue;
    if (std::string id = find_build_id(notes, ph.p_align); !id.empty()) return id;
  }
  return {};
}

}  // namespace

Result<LoadedHeaders> read_loaded_headers(const MemorySource& dumped, Address start) {
  auto header = read_value<Elf64_Ehdr>(dumped, start);
  if (!header) return std::move(header).error();
  LoadedHeaders found;
  found.is_elf = std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
  if (!found.is_elf || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > kMaxProgramHeaders) {
    return found;
  }
  std::vector<Elf64_Phdr> headers(header->e_phnum);
  if (!dumped.read(start + header->e_phoff, std::as_writable_bytes(std::span(headers)))) {
    return found;
  }
  const auto first =
      std::ranges::find_if(headers, [](const Elf64_Phdr& ph) { return ph.p_type == PT_LOAD; });
  if (first == headers.end()) return found;
  found.build_id = build_id_of(dumped, start - (page_down(first->p_vaddr)), headers);
  return found;
}

}  // namespace labelscope
