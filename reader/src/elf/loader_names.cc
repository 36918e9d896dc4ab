// The names are read from the file. In memory the loader may have relocated the addresses of these
// tables or not, depending on the libc.
#include "elf/loader_names.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace labelscope {
namespace {

// Real files have some thirty.
constexpr std::size_t kMaxDynamicEntries = 1024;
constexpr std::size_t kMaxName = 4096;

// Reads as many of the values as there are in one go, or else the first one alone, because the
// segment may end behind it.
template <class T>
std::span<const T> read_some(const ElfImage& image, std::uint64_t address, std::span<T> values) {
  if (image.read(address, std::as_writable_bytes(values))) return values;
  const std::span<T> first = values.first(1);
  return image.read(address, std::as_writable_bytes(first)) ? first : std::span<T>();
}

std::optional<std::vector<Elf64_Dyn>> read_entries(const ElfImage& image, std::uint64_t address) {
  std::vector<Elf64_Dyn> entries;
  while (entries.size() < kMaxDynamicEntries) {
    std::array<Elf64_Dyn, 32> piece;
    const auto some = read_some<Elf64_Dyn>(image, address, piece);
    if (some.empty()) return std::nullopt;
    for (const Elf64_Dyn& entry : some) {
      if (entry.d_tag == DT_NULL) return entries;
      entries.push_back(entry);
    }
    address += some.size_bytes();
  }
  return entries;
}

std::optional<std::string> read_name(const ElfImage& image, std::uint64_t address,
                                     LoaderNameBudget& left) {
  if (left.names == 0) return std::nullopt;
  --left.names;
  std::string name;
  while (name.size() < kMaxName) {
    std::array<char, 64> piece;
    const auto some = read_some<char>(image, address + name.size(), piece);
    const auto end = std::ranges::find(some, '\0');
    name.append(some.begin(), end);
    if (some.empty() || left.bytes < some.size()) return std::nullopt;
    left.bytes -= some.size();
    if (end != some.end()) return name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LoaderNames> read_loader_names(const ElfImage& image, LoaderNameBudget& left) {
  LoaderNames names;
  if (!image.dynamic_address()) return names;
  const auto entries = read_entries(image, *image.dynamic_address());
  if (!entries) return std::nullopt;
  std::uint64_t strings = 0;
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  for (const Elf64_Dyn& entry : *entries) {
    const bool needed = entry.d_tag == DT_NEEDED;
    const bool wished = entry.d_tag == DT_FILTER || entry.d_tag == DT_AUXILIARY;
    if (!needed && !wished && entry.d_tag != DT_SONAME) continue;
    auto name = read_name(image, strings + entry.d_un.d_val, left);
    if (!name) return std::nullopt;
    if (entry.d_tag == DT_SONAME) {
      names.own = *std::move(name);
    } else {
      (needed ? names.needed : names.wished).push_back(*std::move(name));
    }
  }
  return names;
}

}  // namespace labelscope
