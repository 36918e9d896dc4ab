#include "cli/names/foreign_elf.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "elf/hostile_sections.h"

namespace labelscope::cli {
namespace {

// A file up to this size is read, not mapped. libelf reads only the sections that it needs. A
// larger one would need more memory than the worker has.
constexpr off_t kMaxRead = off_t{256} << 20;

std::string elf_problem() {
  const char* text = elf_errmsg(-1);
  return text != nullptr ? text : "unknown error of libelf";
}

// The symbol tables, what belongs to them, and where their names are.
std::set<std::size_t> symbol_sections(Elf* elf) {
  std::set<std::size_t> found;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const bool symbols = header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM;
    if (symbols || header.sh_type == SHT_SYMTAB_SHNDX) found.insert(elf_ndxscn(section));
    if (symbols) found.insert(header.sh_link);
  }
  return found;
}

// Where the code of a file is, by the names of its sections. A linker makes some five.
std::map<std::string_view, std::pair<GElf_Addr, GElf_Xword>> code_sections(Elf* elf) {
  constexpr std::size_t kMostSections = 256;
  constexpr std::size_t kMostOfName = 64;
  std::map<std::string_view, std::pair<GElf_Addr, GElf_Xword>> sections;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) {
      continue;
    }
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || sections.size() == kMostSections) break;
    sections.try_emplace({name, ::strnlen(name, kMostOfName)}, header.sh_addr, header.sh_size);
  }
  return sections;
}

}  // namespace

Result<Elf*> open_elf(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(errno, "cannot stat the file");
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kUnsupported, "it is not a regular file"};
  if (Status sections = check_section_count(fd); !sections) return std::move(sections).error();
  elf_version(EV_CURRENT);
  const bool map = status.st_size > kMaxRead;
  Elf* elf = elf_begin(fd, map ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ, nullptr);
  if (elf == nullptr)
    return Error{ErrorCode::kMalformed, "libelf cannot read it: " + elf_problem()};
  if (elf_kind(elf) == ELF_K_ELF) return elf;
  elf_end(elf);
  return Error{ErrorCode::kMalformed, "it is not an ELF file"};
}

std::string build_id_of(Elf* elf) {
  const void* id = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  if (size <= 0 || static_cast<std::size_t>(size) > kMaxBuildId) return {};
  return hex_bytes({static_cast<const std::byte*>(id), static_cast<std::size_t>(size)});
}

std::uint64_t packed_size(Elf* elf, NamesFrom from) {
  constexpr std::string_view kOlder = "ZLIB";
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return 0;
  std::optional<std::set<std::size_t>> only;
  if (from != NamesFrom::kDebugInformation) only = symbol_sections(elf);
  std::uint64_t all = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    GElf_Chdr packed;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    if (only && !only->contains(elf_ndxscn(section))) continue;
    std::uint64_t size = 0;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if ((header.sh_flags & SHF_COMPRESSED) != 0) {
      if (gelf_getchdr(section, &packed) != nullptr) size = packed.ch_size;
    } else if (name != nullptr && std::strncmp(name, ".zdebug", 7) == 0) {
      const Elf_Data* data = elf_rawdata(section, nullptr);
      if (data == nullptr || data->d_size < kOlder.size() + sizeof size) continue;
      std::memcpy(&size, static_cast<const char*>(data->d_buf) + kOlder.size(), sizeof size);
      size = be64toh(size);
    }
    if (__builtin_add_overflow(all, size, &all)) return UINT64_MAX;
  }
  return all;
}

const char* unknown_packing(Elf* elf) {
  constexpr GElf_Word kZstd = 2;  // ELFCOMPRESS_ZSTD, which older headers lack
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    GElf_Chdr packed;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) == 0 ||
        gelf_getchdr(section, &packed) == nullptr || packed.ch_type == ELFCOMPRESS_ZLIB) {
      continue;
    }
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strncmp(name, ".debug_info", 11) != 0) continue;
    // Unpacking is tried where its size is known to be small enough by packed_size().
    if (elf_compress(section, 0, 0) >= 0) continue;
    return packed.ch_type == kZstd ? "zstd" : "an unknown algorithm";
  }
  return nullptr;
}

std::optional<std::uint32_t> checksum_of(int fd) {
  std::vector<unsigned char> buffer(std::size_t{1} << 20);
  auto sum = static_cast<std::uint32_t>(::crc32(0, nullptr, 0));
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0) return std::nullopt;
    if (got == 0) return sum;
    sum = static_cast<std::uint32_t>(::crc32(sum, buffer.data(), static_cast<unsigned>(got)));
    at += got;
  }
}

Result<LoadedExtent> loaded_extent(Elf* elf) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) {
    return Error{ErrorCode::kMalformed, "its program headers cannot be read: " + elf_problem()};
  }
  std::optional<LoadedExtent> extent;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) {
      return Error{ErrorCode::kMalformed, "its program headers cannot be read: " + elf_problem()};
    }
    if (header.p_type != PT_LOAD) continue;
    Address end = 0;
    if (__builtin_add_overflow(header.p_vaddr, header.p_memsz, &end)) {
      return Error{ErrorCode::kMalformed, "a segment of it does not fit into the address space"};
    }
    Address align = header.p_align == 0 ? 1 : header.p_align;
    if (!extent) extent = LoadedExtent{header.p_vaddr & (~align + 1), end, header.p_vaddr};
    extent->end = std::max(extent->end, end);
  }
  if (!extent || extent->start >= extent->end) {
    return Error{ErrorCode::kMalformed, "it has no segment to load"};
  }
  return *extent;
}

bool has_section(Elf* elf, GElf_Word type) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) return true;
  }
  return false;
}

bool has_other_code(Elf* program, Elf* debug) {
  const auto its = code_sections(debug);
  return std::ranges::any_of(code_sections(program), [&](const auto& section) {
    const auto same = its.find(section.first);
    return same != its.end() && same->second != section.second;
  });
}

}  // namespace labelscope::cli
