#include "elf/hostile_sections.h"

#include <elf.h>
#include <libelf.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace labelscope {
namespace {

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

// zlib makes at most so many bytes of one; a section that claims more is wrong.
constexpr std::uint64_t kMaxRatio = 1032;

// libelf unpacks only sections of files, so this makes a file: a header, the packed bytes and two
// section headers.
std::vector<char> file_around(std::span<const std::byte> packed) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = (sizeof header + packed.size() + 7) & ~std::uint64_t{7};
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_COMPRESSED;
  section.sh_offset = sizeof header;
  section.sh_size = packed.size();
  section.sh_addralign = alignof(Elf64_Chdr);
  std::vector<char> file(header.e_shoff + 2 * sizeof section);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, packed.data(), packed.size());
  std::memcpy(file.data() + header.e_shoff + sizeof section, &section, sizeof section);
  return file;
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

Result<std::vector<std::byte>> unpack_section(std::span<const std::byte> packed,
                                              std::uint64_t most) {
  Elf64_Chdr header;
  if (packed.size() < sizeof header) return Error{ErrorCode::kMalformed, "a section is cut"};
  std::memcpy(&header, packed.data(), sizeof header);
  if (header.ch_size > most || header.ch_size / kMaxRatio > packed.size()) {
    return Error{ErrorCode::kLimit, "a compressed section claims an impossible size"};
  }
  const Error failed{ErrorCode::kUnsupported, "a compressed section cannot be unpacked"};
  if (elf_version(EV_CURRENT) == EV_NONE) return failed;
  std::vector<char> file = file_around(packed);
  const ElfHandle elf(elf_memory(file.data(), file.size()));
  Elf_Scn* section = elf ? elf_getscn(elf.get(), 1) : nullptr;
  if (section == nullptr || elf_compress(section, 0, 0) < 0) return failed;
  const Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size > most) return failed;
  const auto* first = static_cast<const std::byte*>(data->d_buf);
  return std::vector<std::byte>(first, first + data->d_size);
}

}  // namespace labelscope
