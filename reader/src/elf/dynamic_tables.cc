// This looks names up as a loader does. Both processors are little-endian, and so is the machine
// that this runs on, so the structures are read as they are in the file.
#include "elf/dynamic_tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "base/malformed.h"

namespace labelscope {
namespace {

// These are the two hash functions of dynamic symbol tables: System V gABI ("Hash Table") and GNU.
std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysv_hash_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    std::uint32_t high = hash & 0xf0000000U;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

static_assert(std::endian::native == std::endian::little);

// Hundreds of tags exist, and real files have some thirty.
constexpr std::uint64_t kMaxDynamicBytes = 1 << 20;
// Linkers aim at one symbol for each bucket. A table of ten million symbols in ld's largest count
// of buckets has chains of 40.
constexpr std::uint64_t kMaxChain = 1 << 14;

Error endless_chain() { return malformed("a hash chain does not end"); }

using Found = std::optional<std::uint32_t>;

}  // namespace

Result<DynamicTables> DynamicTables::read(const LoadedFile& file, std::uint64_t offset,
                                          std::uint64_t size) {
  if (size > kMaxDynamicBytes) return malformed("the dynamic section is impossibly large");
  std::vector<Elf64_Dyn> entries(size / sizeof(Elf64_Dyn));
  if (Status status = file.read_offset(offset, std::as_writable_bytes(std::span(entries)));
      !status) {
    return malformed("the dynamic section lies outside the file");
  }
  DynamicTables tables;
  const std::pair<Elf64_Sxword, std::uint64_t*> wanted[] = {
      {DT_GNU_HASH, &tables.gnu_hash},
      {DT_HASH, &tables.hash},
      {DT_SYMTAB, &tables.symbols},
      {DT_STRTAB, &tables.strings},
      {DT_STRSZ, &tables.strings_size},
      {DT_RELA, &tables.rela},
      {DT_RELASZ, &tables.rela_size},
      {DT_JMPREL, &tables.plt_rela},
      {DT_PLTRELSZ, &tables.plt_rela_size},
      {DT_INIT, &tables.init},
      {DT_FINI, &tables.fini},
      {DT_INIT_ARRAY, &tables.init_array},
      {DT_INIT_ARRAYSZ, &tables.init_array_size},
      {DT_FINI_ARRAY, &tables.fini_array},
      {DT_FINI_ARRAYSZ, &tables.fini_array_size}};
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    for (const auto& [tag, value] : wanted) {
      if (entry.d_tag == tag) *value = entry.d_un.d_val;
    }
    tables.has_soname |= entry.d_tag == DT_SONAME;
    if (entry.d_tag == DT_FLAGS_1) tables.is_pie = (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  return tables;
}

Result<Elf64_Sym> DynamicTables::symbol(const LoadedFile& file, std::uint64_t index) const {
  return file.value<Elf64_Sym>(symbols + index * sizeof(Elf64_Sym));
}

Result<bool> DynamicTables::named(const LoadedFile& file, const Elf64_Sym& sym,
                                  std::string_view name) const {
  if (sym.st_name >= strings_size || strings_size - sym.st_name <= name.size()) return false;
  std::string text(name.size() + 1, '\0');
  Status status = file.read(strings + sym.st_name, std::as_writable_bytes(std::span(text)));
  if (!status) return std::move(status).error();
  return std::string_view(text).substr(0, name.size()) == name && text.back() == '\0';
}

Result<Found> DynamicTables::look_up(const LoadedFile& file, std::string_view name) const {
  if (symbols == 0) return Found{};
  if (gnu_hash != 0) return look_up_gnu(file, name);
  return hash != 0 ? look_up_sysv(file, name) : Found{};
}

// The GNU hash table is {nbuckets, first symbol, bloom words, bloom shift}, bloom[], buckets[],
// chains[]. Imported symbols are not in it.
Result<Found> DynamicTables::look_up_gnu(const LoadedFile& file, std::string_view name) const {
  auto header = file.value<std::array<std::uint32_t, 4>>(gnu_hash);
  if (!header) return std::move(header).error();
  const auto [buckets, first, bloom_size, shift] = *header;
  if (buckets == 0) return Found{};
  if (!std::has_single_bit(bloom_size) || shift >= 32) {
    return malformed("the GNU hash table's header is impossible");
  }
  const std::uint32_t wanted = gnu_hash_of(name);
  const std::uint64_t bloom_at = gnu_hash + sizeof *header;
  auto bloom = file.value<std::uint64_t>(
      bloom_at + 8 * ((wanted / 64) & (static_cast<std::uint64_t>(bloom_size) - 1)));
  if (!bloom) return std::move(bloom).error();
  if (((*bloom >> (wanted % 64)) & (*bloom >> ((wanted >> shift) % 64)) & 1) == 0) return Found{};
  const std::uint64_t buckets_at = bloom_at + 8 * static_cast<std::uint64_t>(bloom_size);
  auto bucket =
      file.value<std::uint32_t>(buckets_at + 4 * static_cast<std::uint64_t>(wanted % buckets));
  if (!bucket) return std::move(bucket).error();
  if (*bucket < first) return Found{};
  const std::uint64_t chains_at = buckets_at + 4 * static_cast<std::uint64_t>(buckets);
  // An odd word ends the chain.
  for (std::uint64_t index = *bucket; index - *bucket < kMaxChain; ++index) {
    auto chain = file.value<std::uint32_t>(chains_at + 4 * (index - first));
    if (!chain) return std::move(chain).error();
    if ((*chain | 1) == (wanted | 1)) {
      auto sym = symbol(file, index);
      if (!sym) return std::move(sym).error();
      auto same = named(file, *sym, name);
      if (!same) return std::move(same).error();
      if (*same) return Found(static_cast<std::uint32_t>(index));
    }
    if ((*chain & 1) != 0) return Found{};
  }
  return endless_chain();
}

// The System V hash table is {nbucket, nchain}, buckets[], chains[]; 0 ends a chain.
Result<Found> DynamicTables::look_up_sysv(const LoadedFile& file, std::string_view name) const {
  auto header = file.value<std::array<std::uint32_t, 2>>(hash);
  if (!header) return std::move(header).error();
  const auto [buckets, chains] = *header;
  if (buckets == 0) return Found{};
  const std::uint64_t buckets_at = hash + sizeof *header;
  auto index = file.value<std::uint32_t>(
      buckets_at + 4 * static_cast<std::uint64_t>(sysv_hash_of(name) % buckets));
  for (std::uint64_t steps = 0; index && *index != 0; ++steps) {
    if (steps == kMaxChain || *index >= chains) return endless_chain();
    auto sym = symbol(file, *index);
    if (!sym) return std::move(sym).error();
    auto same = named(file, *sym, name);
    if (!same) return std::move(same).error();
    if (*same) return Found(*index);
    index =
        file.value<std::uint32_t>(buckets_at + 4 * (static_cast<std::uint64_t>(buckets) + *index));
  }
  if (!index) return std::move(index).error();
  return Found{};
}

}  // namespace labelscope
