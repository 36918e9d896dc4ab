#include "writer/library_file.h"

#include <elf.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "support/catch.h"

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kTlsdesc = R_X86_64_TLSDESC;
constexpr std::uint32_t kOtherTls[] = {R_X86_64_DTPMOD64, R_X86_64_DTPOFF64, R_X86_64_TPOFF64};
#else
constexpr std::uint32_t kTlsdesc = R_AARCH64_TLSDESC;
constexpr std::uint32_t kOtherTls[] = {R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_DTPREL,
                                       R_AARCH64_TLS_TPREL};
#endif

}  // namespace

LibraryFile::LibraryFile(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {
  elf_version(EV_CURRENT);
  elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  REQUIRE(elf_ != nullptr);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) read_section(section);
}

LibraryFile::~LibraryFile() {
  elf_end(elf_);
  close(fd_);
}

long LibraryFile::descriptors_of(const std::string& symbol) const {
  return std::count(tls_descriptors.begin(), tls_descriptors.end(), symbol);
}

std::set<std::string> LibraryFile::exported() const {
  std::set<std::string> names;
  for (const auto& [name, symbol] : defined) names.insert(name);
  return names;
}

std::optional<std::uint32_t> LibraryFile::read_only_word(GElf_Addr address) const {
  std::size_t count = 0;
  REQUIRE(elf_getphdrnum(elf_, &count) == 0);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    REQUIRE(gelf_getphdr(elf_, static_cast<int>(i), &header) != nullptr);
    const bool holds = header.p_type == PT_LOAD && address >= header.p_vaddr &&
                       address + sizeof(std::uint32_t) <= header.p_vaddr + header.p_filesz;
    if (!holds) continue;
    if ((header.p_flags & PF_W) != 0) return std::nullopt;
    std::uint32_t word = 0;
    REQUIRE(pread(fd_, &word, sizeof(word),
                  static_cast<off_t>(header.p_offset + address - header.p_vaddr)) ==
            static_cast<ssize_t>(sizeof(word)));
    return word;
  }
  return std::nullopt;
}

void LibraryFile::read_section(Elf_Scn* section) {
  GElf_Shdr header;
  REQUIRE(gelf_getshdr(section, &header) != nullptr);
  Elf_Data* data = elf_getdata(section, nullptr);
  const int count =
      header.sh_entsize == 0 ? 0 : static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    if (header.sh_type == SHT_DYNSYM) read_symbol(data, i, header.sh_link);
    if (header.sh_type == SHT_RELA) read_relocation(data, i, header.sh_link);
    if (header.sh_type == SHT_DYNAMIC) read_dynamic(data, i, header.sh_link);
  }
}

void LibraryFile::read_symbol(Elf_Data* data, int index, std::uint32_t strings) {
  GElf_Sym symbol;
  REQUIRE(gelf_getsym(data, index, &symbol) != nullptr);
  if (symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL) return;
  defined[elf_strptr(elf_, strings, symbol.st_name)] = symbol;
}

void LibraryFile::read_relocation(Elf_Data* data, int index, std::uint32_t symbols) {
  GElf_Rela relocation;
  REQUIRE(gelf_getrela(data, index, &relocation) != nullptr);
  const auto type = static_cast<std::uint32_t>(GELF_R_TYPE(relocation.r_info));
  other_tls_relocations +=
      static_cast<int>(std::count(std::begin(kOtherTls), std::end(kOtherTls), type));
  if (type != kTlsdesc) return;
  Elf_Scn* section = elf_getscn(elf_, symbols);
  GElf_Shdr header;
  GElf_Sym symbol;
  REQUIRE(gelf_getshdr(section, &header) != nullptr);
  REQUIRE(gelf_getsym(elf_getdata(section, nullptr),
                      static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) != nullptr);
  tls_descriptors.emplace_back(elf_strptr(elf_, header.sh_link, symbol.st_name));
}

void LibraryFile::read_dynamic(Elf_Data* data, int index, std::uint32_t strings) {
  GElf_Dyn entry;
  REQUIRE(gelf_getdyn(data, index, &entry) != nullptr);
  if (entry.d_tag == DT_NEEDED) needed.insert(elf_strptr(elf_, strings, entry.d_un.d_val));
  if (entry.d_tag == DT_SONAME) sonames.emplace_back(elf_strptr(elf_, strings, entry.d_un.d_val));
}
