// This reads notes that are in memory already.
#include "elf/elf_note.h"

#include <algorithm>

#include "base/text.h"

namespace labelscope {
namespace {

// Build IDs are 8 to 32 bytes, by the hash that made them.
constexpr std::uint64_t kMaxBuildId = 64;

// Calls `use(place)` for each note, until it returns true.
template <class Use>
void for_places(std::span<const std::byte> notes, std::uint64_t alignment, Use use) {
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const auto place = place_note(header, at, notes.size(), alignment == 8 ? 8 : 4);
    if (!place || use(*place)) break;
    at = place->next;
  }
}

// Names end with a zero byte, and some (Go's) are padded with more of them.
bool is_owned_by(const NotePlace& place, std::span<const std::byte> notes, std::string_view owner) {
  std::string_view name(reinterpret_cast<const char*>(notes.data()) + place.name_offset,
                        place.name_size);
  name = name.substr(0, name.find('\0'));
  return name == owner;
}

}  // namespace

bool has_note_of(std::span<const std::byte> notes, std::uint64_t alignment,
                 std::string_view owner) {
  bool found = false;
  for_places(notes, alignment,
             [&](const NotePlace& place) { return found = is_owned_by(place, notes, owner); });
  return found;
}

std::string find_build_id(std::span<const std::byte> notes, std::uint64_t alignment) {
  std::string id;
  for_places(notes, alignment, [&](const NotePlace& place) {
    if (place.type != NT_GNU_BUILD_ID || !is_owned_by(place, notes, ELF_NOTE_GNU)) return false;
    id = hex_bytes(notes.subspan(place.content_offset,
                                 std::min<std::uint64_t>(place.content_size, kMaxBuildId)));
    return true;
  });
  return id;
}

}  // namespace labelscope
