// Notes that are in memory already.
#include "elf/elf_note.h"

#include <algorithm>

#include "base/text.h"

namespace labelscope {
namespace {

// Build IDs are 8 to 32 bytes, by the hash that made them.
constexpr std::uint64_t kMaxBuildId = 64;

}  // namespace

std::string find_build_id(std::span<const std::byte> notes, std::uint64_t alignment) {
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const auto place = place_note(header, at, notes.size(), alignment == 8 ? 8 : 4);
    if (!place) break;
    if (place->type == NT_GNU_BUILD_ID && place->name_size == sizeof ELF_NOTE_GNU &&
        std::memcmp(notes.data() + place->name_offset, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      return hex_bytes(notes.subspan(place->content_offset,
                                     std::min<std::uint64_t>(place->content_size, kMaxBuildId)));
    }
    at = place->next;
  }
  return {};
}

}  // namespace labelscope
