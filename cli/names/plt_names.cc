// An entry jumps through a slot, and a relocation says which function the loader puts there:
//
//   .plt entry   jmp *slot        .rela.plt   slot, R_X86_64_JUMP_SLOT, printf
//
// So the names do not depend on the order in which a linker writes entries.
#include "cli/names/plt_names.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/aarch64_words.h"
#include "unwind_table/plt_code.h"

namespace labelscope::cli {
namespace {

// Longer names are those of hostile files.
constexpr std::size_t kMaxPltName = 65536;

bool fills_slot(std::uint64_t type, bool is_x86) {
  return is_x86 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
                : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

// Returns the slot through which the entry jumps.
std::optional<Address> slot_of_x86(std::string_view entry, Address address) {
  constexpr std::size_t kSize = 6;  // jmp *distance(%rip)
  const std::size_t at = entry.find("\xff\x25");
  if (at == std::string_view::npos || at + kSize > entry.size()) return std::nullopt;
  std::int32_t distance = 0;
  std::memcpy(&distance, entry.data() + at + 2, sizeof distance);
  return address + at + kSize + static_cast<Address>(std::int64_t{distance});
}

// Returns the same of aarch64, from adrp x16, page; ldr x17, [x16, #offset].
std::optional<Address> slot_of_arm(std::string_view entry, Address address) {
  for (std::size_t at = 0; at + 8 <= entry.size(); at += a64::kInstructionSize) {
    std::uint32_t words[2];
    std::memcpy(words, entry.data() + at, sizeof words);
    if (!a64::is_adrp(words[0])) continue;
    return a64::adrp_page(words[0], address + at) + 8 * Address{a64::bits(words[1], 21, 10)};
  }
  return std::nullopt;
}

}  // namespace

PltNames::PltNames(Elf* elf, Budget& budget) {
  GElf_Ehdr file;
  std::size_t section_names = 0;
  if (gelf_getehdr(elf, &file) == nullptr || elf_getshdrstrndx(elf, &section_names) != 0) return;
  const bool is_x86 = file.e_machine == EM_X86_64;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    if ((header.sh_flags & SHF_ALLOC) == 0) continue;
    Elf_Scn* const symbols = elf_getscn(elf, header.sh_link);
    GElf_Shdr of_symbols;
    if (gelf_getshdr(symbols, &of_symbols) == nullptr) continue;
    Elf_Data* const relocations = elf_getdata(section, nullptr);
    Elf_Data* const table = elf_getdata(symbols, nullptr);
    GElf_Rela relocation;
    for (int i = 0; gelf_getrela(relocations, i, &relocation) != nullptr; ++i) {
      if (!budget.spend(Cost::kSymbols)) return;
      GElf_Sym symbol;
      const auto number = static_cast<int>(GELF_R_SYM(relocation.r_info));
      if (!fills_slot(GELF_R_TYPE(relocation.r_info), is_x86)) continue;
      if (number == 0 || gelf_getsym(table, number, &symbol) == nullptr) continue;
      const char* const name = elf_strptr(elf, of_symbols.sh_link, symbol.st_name);
      if (name != nullptr && name[0] != '\0') slots_.push_back({relocation.r_offset, name});
    }
  }
  std::sort(slots_.begin(), slots_.end(),
            [](const Slot& left, const Slot& right) { return left.address < right.address; });
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* const name = elf_strptr(elf, section_names, header.sh_name);
    if (name == nullptr || std::strncmp(name, ".plt", 4) != 0) continue;
    add_section(section, header, is_x86, budget);
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& left, const Entry& right) { return left.start < right.start; });
}

void PltNames::add_section(Elf_Scn* section, const GElf_Shdr& header, bool is_x86, Budget& budget) {
  const Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return;
  const std::string_view code(static_cast<const char*>(data->d_buf), data->d_size);
  const std::size_t align = is_x86 ? 8 : 4;
  for (std::size_t at = 0; at < code.size() && budget.spend(Cost::kSymbols);) {
    const Address address = header.sh_addr + at;
    const PltEntry entry =
        find_plt_entry(code.substr(at), address, is_x86 ? Machine::kX86_64 : Machine::kAarch64);
    const std::string_view bytes = code.substr(at, entry.size);
    const auto slot = is_x86 ? slot_of_x86(bytes, address) : slot_of_arm(bytes, address);
    at += std::max(entry.size & ~(align - 1), align);
    if (!slot) continue;
    const auto found =
        std::lower_bound(slots_.begin(), slots_.end(), *slot,
                         [](const Slot& each, Address wanted) { return each.address < wanted; });
    if (found == slots_.end() || found->address != *slot) continue;
    const std::string_view name(found->name, strnlen(found->name, kMaxPltName));
    entries_.push_back({address, address + entry.size, std::string(name) + "@plt"});
  }
}

std::string_view PltNames::find(Address address) const {
  auto after =
      std::upper_bound(entries_.begin(), entries_.end(), address,
                       [](Address wanted, const Entry& each) { return wanted < each.start; });
  if (after == entries_.begin() || address >= std::prev(after)->end) return {};
  return std::prev(after)->name;
}

}  // namespace labelscope::cli
