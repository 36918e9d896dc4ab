// Finds the symbol that covers an address, when sizes may be missing (assembly), ranges may nest
// (local labels) and several names may share one address.
#include "cli/names/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace labelscope::cli {
namespace {

// So many symbols with a size that start before an address are tried until one covers it. They nest
// two or three deep; hostile tables must not make each look-up linear.
constexpr int kMaxNesting = 64;
// So many names of one function are compared with that of its debug information. libc's functions
// have five.
constexpr int kMostNames = 256;
// Shown names are cut here; a hostile string table may be one name of a gigabyte.
constexpr std::size_t kMaxName = 65536;

// Ranks several names of one address: global before weak before local, few underscores in front.
std::uint8_t badness(const GElf_Sym& symbol, const char* name) {
  int binding = GELF_ST_BIND(symbol.st_info);
  int bad = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 64 : 128;
  if (GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE) bad += 32;
  return static_cast<std::uint8_t>(
      bad + static_cast<int>(std::min<std::size_t>(std::strspn(name, "_"), 31)));
}

// Whether the symbol marks a place in the code for tools: $x, $d, $a or $t, alone or before a dot
// (ELF for the Arm 64-bit Architecture, 5.5.4). Names of Swift begin with the same character.
bool is_mapping_symbol(const GElf_Sym& symbol, std::string_view name) {
  return GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE && name.size() >= 2 && name[0] == '$' &&
         std::strchr("xdat", name[1]) != nullptr && (name.size() == 2 || name[2] == '.');
}

bool is_code_symbol(const GElf_Sym& symbol, const char* name) {
  int type = GELF_ST_TYPE(symbol.st_info);
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
  if (symbol.st_shndx == SHN_UNDEF || name[0] == '\0') return false;
  // Labels that an assembler keeps to itself are not functions either.
  return std::strncmp(name, ".L", 2) != 0 && !is_mapping_symbol(symbol, {name, strnlen(name, 3)});
}

}  // namespace

std::vector<CodeRange> code_ranges(Elf* elf, Address bias) {
  std::vector<CodeRange> ranges;
  auto add = [&ranges, bias](Address start, Address size, bool plt) {
    Address end = 0;
    if (size == 0 || __builtin_add_overflow(start, size, &end)) return;
    ranges.push_back({start + bias, end + bias, plt});
  };
  std::size_t names = 0;
  bool named = elf_getshdrstrndx(elf, &names) == 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if ((header.sh_flags & SHF_EXECINSTR) == 0 || (header.sh_flags & SHF_ALLOC) == 0) continue;
    const char* name = named ? elf_strptr(elf, names, header.sh_name) : nullptr;
    add(header.sh_addr, header.sh_size, name != nullptr && std::strncmp(name, ".plt", 4) == 0);
  }
  std::size_t segments = 0;
  if (ranges.empty() && elf_getphdrnum(elf, &segments) == 0) {
    for (std::size_t i = 0; i < segments; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
        add(header.p_vaddr, header.p_memsz, false);
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  return ranges;
}

// Whether all names end where their section does: libdwfl does not check that.
static bool names_end(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    const Elf_Data* names = elf_getdata(elf_getscn(elf, header.sh_link), nullptr);
    if (names == nullptr || names->d_buf == nullptr || names->d_size == 0) continue;
    if (static_cast<const char*>(names->d_buf)[names->d_size - 1] != '\0') return false;
  }
  return true;
}

SymbolTable::SymbolTable(Dwfl_Module* module, std::vector<CodeRange> ranges, bool complete,
                         Budget& budget)
    : ranges_(std::move(ranges)) {
  const int count = dwfl_module_getsymtab(module);
  Elf* checked = nullptr;
  bool good = false;
  for (int i = 1; i < count && budget.spend(Cost::kSymbols); ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    Elf* elf = nullptr;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, &elf, nullptr);
    if (elf != checked) {
      checked = elf;
      good = names_end(elf);
    }
    if (name != nullptr && good) add(symbol, address, name);
  }
  finish(complete);
}

SymbolTable::SymbolTable(Elf* elf, std::vector<CodeRange> ranges, bool complete, Budget& budget)
    : ranges_(std::move(ranges)) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    add_section(elf, section, budget);
  }
  finish(complete);
}

void SymbolTable::add_section(Elf* elf, Elf_Scn* section, Budget& budget) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return;
  if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) return;
  Elf_Data* data = elf_getdata(section, nullptr);
  GElf_Sym symbol;
  for (int i = 1; gelf_getsym(data, i, &symbol) != nullptr && budget.spend(Cost::kSymbols); ++i) {
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr) add(symbol, symbol.st_value, name);
  }
}

void SymbolTable::finish(bool complete) {
  keep_one_each();
  const auto sized = std::stable_partition(entries_.begin(), entries_.end(),
                                           [](const Entry& entry) { return entry.sized; });
  if (complete) unsized_.assign(sized, entries_.end());
  entries_.erase(sized, entries_.end());
  drop_labels();
  end_unsized();
}

const CodeRange* SymbolTable::range_of(Address address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](Address a, const CodeRange& range) { return a < range.start; });
  if (after == ranges_.begin()) return nullptr;
  const CodeRange& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

void SymbolTable::add(const GElf_Sym& symbol, Address address, const char* name) {
  if (!is_code_symbol(symbol, name)) return;
  const CodeRange* range = range_of(address);
  if (range == nullptr) return;
  const Address size = std::min<Address>(symbol.st_size, range->end - address);
  const bool typed = GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE;
  const bool label = !typed && GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
  entries_.push_back(
      {address, address + size, name, badness(symbol, name), size != 0, typed, label});
}

void SymbolTable::keep_one_each() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.sized != b.sized) return a.sized;
    if (a.badness != b.badness) return a.badness < b.badness;
    return std::strcmp(a.name, b.name) < 0;
  });
  Entries kept;
  for (const Entry& entry : entries_) {
    if (kept.empty() || kept.back().start != entry.start) {
      kept.push_back(entry);
    } else if (kept.back().sized == entry.sized && kept.back().badness == entry.badness) {
      equals_.push_back(entry);
    }
  }
  entries_ = std::move(kept);
}

SymbolTable::Entries::const_iterator SymbolTable::first_after(const Entries& entries,
                                                              Address address) {
  return std::upper_bound(entries.begin(), entries.end(), address,
                          [](Address a, const Entry& entry) { return a < entry.start; });
}

// A local label after a symbol that is typed as a function belongs to that function, as loops in
// assembly code do, unless a function with a size lies between them.
void SymbolTable::drop_labels() {
  Entries kept;
  for (const Entry& entry : unsized_) {
    const bool inside =
        entry.label && !kept.empty() && kept.back().typed &&
        range_of(kept.back().start) == range_of(entry.start) &&
        first_after(entries_, kept.back().start) == first_after(entries_, entry.start);
    if (!inside) kept.push_back(entry);
  }
  unsized_ = std::move(kept);
}

void SymbolTable::end_unsized() {
  for (std::size_t i = 0; i < unsized_.size(); ++i) {
    Entry& entry = unsized_[i];
    const CodeRange* range = range_of(entry.start);
    entry.end = range != nullptr ? range->end : entry.start;
    if (i + 1 < unsized_.size()) entry.end = std::min(entry.end, unsized_[i + 1].start);
    const auto next = first_after(entries_, entry.start);
    if (next != entries_.end()) entry.end = std::min(entry.end, next->start);
  }
}

std::string_view SymbolTable::name_of(const Entry& entry, std::string_view preferred) const {
  const std::string_view name(entry.name, strnlen(entry.name, kMaxName));
  if (preferred.empty() || preferred == name) return name;
  auto equal = first_after(equals_, entry.start);
  for (int steps = 0; equal != equals_.begin() && steps < kMostNames; ++steps) {
    --equal;
    if (equal->start != entry.start) break;
    const std::string_view other(equal->name, strnlen(equal->name, kMaxName));
    if (other == preferred) return other;
  }
  return name;
}

std::string_view SymbolTable::find(Address address, std::string_view preferred) const {
  const CodeRange* range = range_of(address);
  if (range == nullptr) return {};
  if (range->plt) return kPlt;
  // A label inside a function is not its name, so symbols with a size are tried first.
  auto at = first_after(entries_, address);
  for (int steps = 0; at != entries_.begin() && steps < kMaxNesting; ++steps) {
    --at;
    if (address < at->end) return name_of(*at, preferred);
  }
  at = first_after(unsized_, address);
  if (at == unsized_.begin() || address >= (--at)->end) return {};
  return name_of(*at, preferred);
}

}  // namespace labelscope::cli
