// The notes of ELF files and core files are {namesz, descsz, type}, the owner's name, and the
// content, each padded. Source: System V gABI chapter 5, "Note Section".
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace labelscope {

// Where one note is, as offsets from the start of the range of notes that it is in.
struct NotePlace {
  std::uint32_t type = 0;
  std::uint32_t name_size = 0;  // with its zero byte
  std::uint64_t name_offset = 0;
  std::uint64_t content_offset = 0;
  std::uint64_t content_size = 0;
  std::uint64_t next = 0;  // where the next note begins
};

// Computes the place from the note's header, which is at `at` in a range of `size` bytes. Returns
// nullopt if the note claims to be longer than the range.
inline std::optional<NotePlace> place_note(const Elf64_Nhdr& header, std::uint64_t at,
                                           std::uint64_t size, std::uint64_t alignment = 4) {
  const auto pad = [&](std::uint64_t offset) {
    return (offset + alignment - 1) & ~(alignment - 1);
  };
  NotePlace place;
  place.type = header.n_type;
  place.name_size = header.n_namesz;
  place.name_offset = at + sizeof header;
  place.content_offset = pad(place.name_offset + header.n_namesz);
  place.content_size = header.n_descsz;
  const std::uint64_t end = place.content_offset + place.content_size;
  if (end > size) return std::nullopt;
  place.next = pad(end);
  return place;
}

// Returns whether there is a note of this owner.
bool has_note_of(std::span<const std::byte> notes, std::uint64_t alignment, std::string_view owner);
// Returns the GNU build ID among the notes, as lower-case hex; nothing if there is none.
std::string find_build_id(std::span<const std::byte> notes, std::uint64_t alignment);

}  // namespace labelscope
