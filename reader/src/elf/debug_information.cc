#include "elf/debug_information.h"

#include <elf.h>

#include <cstring>
#include <optional>

#include "elf/loaded_file.h"

namespace labelscope {
namespace {

template <class T>
std::optional<T> value_at(const UniqueFd& file, std::uint64_t offset) {
  T value;
  if (!read_fully(file, offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

}  // namespace

// Sections that are read at run time occupy nothing in it.
bool has_only_debug_information(const UniqueFd& file) {
  const auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  for (std::uint16_t i = 0; i < header->e_shnum; ++i) {
    const auto section = value_at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return false;
    if (section->sh_type == SHT_NOBITS && (section->sh_flags & SHF_ALLOC) != 0 &&
        (section->sh_flags & SHF_WRITE) == 0 && section->sh_size != 0) {
      return true;
    }
  }
  return false;
}

Error only_debug_information() {
  return Error{ErrorCode::kUnsupported,
               "it holds debug information only (objcopy --only-keep-debug): look at the file that "
               "it belongs to"};
}

}  // namespace labelscope
