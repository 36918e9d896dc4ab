#include "elf/static_symbols.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/malformed.h"
#include "elf/hostile_sections.h"

namespace labelscope {
namespace {

// The largest browsers have a few hundred MiB.
constexpr std::uint64_t kMaxTableBytes = 1ULL << 30;
// The limit for one name: each object file that was linked may have a local symbol of it.
constexpr std::size_t kMaxPlaces = 65536;
// The limit for thread-local variables. A large program has a few hundred.
constexpr std::size_t kMaxListed = 4096;
constexpr std::size_t kMaxListedName = 512;
// The largest browsers have a few hundred thousand functions.
constexpr std::size_t kMaxFunctions = 4 << 20;
constexpr std::size_t kSectionsAtOnce = 256;
constexpr std::size_t kStaticSymbolsAtOnce = 8192;
constexpr std::size_t kStringBytesAtOnce = 256 << 10;

// The product cannot overflow: the index is that of a section that was counted.
Result<Elf64_Shdr> read_section(const LoadedFile& file, const Elf64_Ehdr& header,
                                std::uint64_t index) {
  return read_value<Elf64_Shdr>(file.fd, header.e_shoff + index * sizeof(Elf64_Shdr));
}

// Finds where the name and a zero byte are among the strings, in ascending order. The tail of a
// longer name may be such a place, because linkers share tails.
Result<std::vector<std::uint64_t>> find_places(const LoadedFile& file, const StaticSymbols& table,
                                               std::string_view name) {
  std::string wanted(name);
  wanted += '\0';
  std::vector<std::uint64_t> places;
  std::string piece;
  for (std::uint64_t done = 0; done < table.strings_size;) {
    const std::size_t kept = std::min(piece.size(), wanted.size() - 1);
    piece.erase(0, piece.size() - kept);
    const std::size_t fresh =
        std::min<std::uint64_t>(kStringBytesAtOnce, table.strings_size - done);
    piece.resize(kept + fresh);
    Status status = file.read_offset(table.strings + done,
                                     std::as_writable_bytes(std::span(piece).subspan(kept)));
    if (!status) return malformed("the names of its symbols lie outside the file");
    for (std::size_t at = piece.find(wanted); at != std::string::npos;
         at = piece.find(wanted, at + 1)) {
      if (places.size() == kMaxPlaces) {
        return Error{ErrorCode::kLimit, "its symbols have one name more than 65536 times"};
      }
      places.push_back(done - kept + at);
    }
    done += fresh;
  }
  return places;
}

}  // namespace

ElfSymbol to_symbol(const Elf64_Sym& sym, std::uint32_t index, SymbolTable table) {
  ElfSymbol out;
  out.value = sym.st_value;
  out.size = sym.st_size;
  out.index = index;
  out.type = ELF64_ST_TYPE(sym.st_info);
  out.binding = ELF64_ST_BIND(sym.st_info);
  out.visibility = ELF64_ST_VISIBILITY(sym.st_other);
  out.defined = sym.st_shndx != SHN_UNDEF;
  out.table = table;
  return out;
}

Result<std::optional<StaticSymbols>> StaticSymbols::find(const LoadedFile& file,
                                                         const Elf64_Ehdr& header,
                                                         std::uint32_t type) {
  const std::optional<StaticSymbols> none;
  if (header.e_shoff == 0 || header.e_shoff > UINT64_MAX / 2 ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return none;
  }
  std::uint64_t count = header.e_shnum;
  if (count == 0) {
    // With 65,280 sections or more, the first one has their number.
    auto first = read_section(file, header, 0);
    if (!first) return none;
    count = first->sh_size;
  }
  if (count > kMaxSections) {
    return Error{ErrorCode::kLimit, "it claims to have more than 65536 sections"};
  }
  std::vector<Elf64_Shdr> some;
  for (std::uint64_t done = 0; done < count; done += some.size()) {
    some.resize(std::min<std::uint64_t>(kSectionsAtOnce, count - done));
    if (!file.read_offset(header.e_shoff + done * sizeof(Elf64_Shdr),
                          std::as_writable_bytes(std::span(some)))) {
      return none;
    }
    for (const Elf64_Shdr& section : some) {
      if (section.sh_type != type) continue;
      if (section.sh_link >= count) return malformed("the symbol table has no string table");
      auto strings = read_section(file, header, section.sh_link);
      if (!strings) return std::move(strings).error();
      return std::optional(
          StaticSymbols{section.sh_offset, section.sh_size, strings->sh_offset, strings->sh_size});
    }
  }
  return none;
}

template <class Use>
bool StaticSymbols::for_all(const LoadedFile& file, Use use) const {
  if (size > kMaxTableBytes || strings_size > kMaxTableBytes) return false;
  std::vector<Elf64_Sym> some;
  const std::uint64_t count = size / sizeof(Elf64_Sym);
  for (std::uint64_t done = 0; done < count; done += some.size()) {
    some.resize(std::min<std::uint64_t>(kStaticSymbolsAtOnce, count - done));
    if (!file.read_offset(offset + done * sizeof(Elf64_Sym),
                          std::as_writable_bytes(std::span(some)))) {
      return false;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (some[i].st_shndx == SHN_UNDEF) continue;
      if (!use(some[i], static_cast<std::uint32_t>(done + i))) return true;
    }
  }
  return true;
}

void StaticSymbols::list_thread_locals(const LoadedFile& file,
                                       std::vector<std::string>& names) const {
  std::size_t listed = 0;
  for_all(file, [&](const Elf64_Sym& sym, std::uint32_t) {
    if (ELF64_ST_TYPE(sym.st_info) != STT_TLS) return true;
    if (sym.st_name >= strings_size || ++listed > kMaxListed) return true;
    std::string name(std::min<std::uint64_t>(kMaxListedName, strings_size - sym.st_name), '\0');
    if (!file.read_offset(strings + sym.st_name, std::as_writable_bytes(std::span(name)))) {
      return false;
    }
    const std::size_t end = name.find('\0');
    if (end != 0 && end != std::string::npos) names.push_back(name.substr(0, end));
    return true;
  });
}

std::vector<std::uint64_t> StaticSymbols::functions(const LoadedFile& file) const {
  std::vector<std::uint64_t> starts;
  for_all(file, [&](const Elf64_Sym& sym, std::uint32_t) {
    if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC) starts.push_back(sym.st_value);
    return starts.size() < kMaxFunctions;
  });
  return starts;
}

template <class Use>
Status StaticSymbols::for_each(const LoadedFile& file, std::string_view name, Use use) const {
  if (size > kMaxTableBytes || strings_size > kMaxTableBytes) {
    return Error{ErrorCode::kLimit, "a symbol table of more than 1 GiB"};
  }
  auto places = find_places(file, *this, name);
  if (!places) return std::move(places).error();
  if (places->empty()) return {};
  const bool whole = for_all(file, [&](const Elf64_Sym& sym, std::uint32_t index) {
    return !std::ranges::binary_search(*places, sym.st_name) ||
           !use(to_symbol(sym, index, SymbolTable::kSymtab));
  });
  if (!whole) return malformed("the symbol table lies outside the file");
  return {};
}

Result<std::optional<ElfSymbol>> StaticSymbols::look_up(const LoadedFile& file,
                                                        std::string_view name) const {
  std::optional<ElfSymbol> best;
  Status status = for_each(file, name, [&](const ElfSymbol& found) {
    // A hidden variable is local in a linked file; if there is a global one of that name, that one
    // is meant.
    const bool global = found.binding != STB_LOCAL;
    if (global || !best) best = found;
    return global;
  });
  if (!status) return std::move(status).error();
  return best;
}

Result<std::vector<ElfSymbol>> StaticSymbols::look_up_variables(const LoadedFile& file,
                                                                std::string_view name,
                                                                std::uint8_t type) const {
  std::vector<ElfSymbol> all;
  Status status = for_each(file, name, [&](const ElfSymbol& found) {
    if (found.type != type) return false;
    const bool global = found.binding != STB_LOCAL;
    if (global) all.clear();
    const bool known = std::ranges::find(all, found.value, &ElfSymbol::value) != all.end();
    if (!known && all.size() < kMaxListed) all.push_back(found);
    return global;
  });
  if (!status) return std::move(status).error();
  return all;
}

}  // namespace labelscope
