#include "elf/section_count.h"

#include <elf.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace labelscope {
namespace {

constexpr std::uint64_t kMaxSections = 65536;

template <class T>
bool read_at(int file, std::uint64_t offset, T& value) {
  return offset <= INT64_MAX &&
         ::pread(file, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
}

template <class T>
T swapped(T value, bool other_order) {
  if (!other_order) return value;
  if constexpr (sizeof value == 2) return __builtin_bswap16(value);
  if constexpr (sizeof value == 4) return __builtin_bswap32(value);
  if constexpr (sizeof value == 8) return __builtin_bswap64(value);
}

template <class Header, class Section>
std::uint64_t claimed_sections(int file, bool other_order) {
  Header header;
  if (!read_at(file, 0, header)) return 0;
  if (header.e_shnum != 0) return swapped(header.e_shnum, other_order);
  Section first;
  if (header.e_shoff == 0 || !read_at(file, swapped(header.e_shoff, other_order), first)) return 0;
  return swapped(first.sh_size, other_order);
}

}  // namespace

Status check_section_count(int file) {
  unsigned char ident[EI_NIDENT];
  if (!read_at(file, 0, ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return {};
  constexpr bool kLittle = std::endian::native == std::endian::little;
  const bool other_order = (ident[EI_DATA] == ELFDATA2LSB) != kLittle;
  const std::uint64_t count = ident[EI_CLASS] == ELFCLASS32
                                  ? claimed_sections<Elf32_Ehdr, Elf32_Shdr>(file, other_order)
                                  : claimed_sections<Elf64_Ehdr, Elf64_Shdr>(file, other_order);
  if (count <= kMaxSections) return {};
  return Error{ErrorCode::kLimit, "it claims to have " + std::to_string(count) +
                                      " sections; no program or library has more than 65536"};
}

}  // namespace labelscope
