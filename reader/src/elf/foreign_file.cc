// libelf reads every class and byte order; elf_image.cc reads one.
#include "elf/foreign_file.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "elf/hostile_sections.h"
#include "elf/loaded_file.h"

namespace labelscope {
namespace {

// Larger tables of dynamic symbols are not searched: the largest libraries have a few MiB.
constexpr std::uint64_t kMaxSymbolBytes = 64ULL << 20;

ElfHandle open_elf(const UniqueFd& file) {
  if (elf_version(EV_CURRENT) == EV_NONE) return nullptr;
  if (!check_section_count(file.get())) return nullptr;
  return ElfHandle(elf_begin(file.get(), ELF_C_READ, nullptr));
}

std::string processor_name(unsigned machine) {
  struct Name {
    unsigned machine;
    const char* name;
  };
  constexpr Name kNames[] = {
      {EM_386, "x86"},     {EM_X86_64, "x86-64"}, {EM_ARM, "arm"},         {EM_AARCH64, "aarch64"},
      {EM_RISCV, "riscv"}, {EM_PPC, "powerpc"},   {EM_PPC64, "ppc64"},     {EM_S390, "s390"},
      {EM_MIPS, "mips"},   {EM_SPARC, "sparc"},   {EM_SPARCV9, "sparc64"},
  };
  for (const Name& one : kNames) {
    if (one.machine == machine) return one.name;
  }
  return "processor " + std::to_string(machine) + " of ELF's list";
}

bool section_defines_any(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                         std::span<const std::string_view> names) {
  if (header.sh_size > kMaxSymbolBytes || header.sh_entsize == 0) return false;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr) return false;
  const std::size_t count = data->d_size / header.sh_entsize;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return false;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && std::ranges::find(names, name) != names.end()) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> foreign_platform(const UniqueFd& file) {
  const ElfHandle elf = open_elf(file);
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) {
    return std::nullopt;
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return std::nullopt;
  std::string name = processor_name(header.e_machine);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return "32-bit " + name + (header.e_machine == EM_X86_64 ? " (x32)" : "");
  }
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "big-endian " + name;
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) return name;
  // Linux uses its own number if a file needs extensions, and that of System V otherwise.
  const unsigned system = header.e_ident[EI_OSABI];
  if (system == ELFOSABI_NONE || system == ELFOSABI_GNU) return std::nullopt;
  if (system == ELFOSABI_FREEBSD) return name + " with FreeBSD";
  return name + " with system " + std::to_string(system) + " of ELF's list";
}

bool defines_any(const UniqueFd& file, std::span<const std::string_view> symbols) {
  const ElfHandle elf = open_elf(file);
  if (!elf) return false;
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    if (section_defines_any(elf.get(), section, header, symbols)) return true;
  }
  return false;
}

// In such a file, sections that are needed at run time occupy no bytes.
bool has_only_debug_information(const UniqueFd& file) {
  const auto header = read_value<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  for (std::uint16_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read_value<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
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
