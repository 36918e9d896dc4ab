#include "process/link_map.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>

namespace labelscope {
namespace {

constexpr std::size_t kMaxLinks = 4096;
constexpr std::size_t kMaxDynamicEntries = 512;
constexpr std::size_t kMaxText = 4096;

std::optional<Address> find_debug(const MemorySource& memory, Address dynamic) {
  for (std::size_t i = 0; i < kMaxDynamicEntries; ++i, dynamic += sizeof(Elf64_Dyn)) {
    auto entry = read_value<Elf64_Dyn>(memory, dynamic);
    if (!entry || entry->d_tag == DT_NULL) return std::nullopt;
    if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr != 0) return entry->d_un.d_ptr;
  }
  return std::nullopt;
}

}  // namespace

LinkMap read_link_map(const MemorySource& memory, Address dynamic) {
  LinkMap map;
  const auto debug = find_debug(memory, dynamic);
  if (!debug) return map;
  auto next = read_value<Address>(memory, *debug + offsetof(r_debug, r_map));
  const auto state = read_value<std::int32_t>(memory, *debug + offsetof(r_debug, r_state));
  map.consistent = state && *state == r_debug::RT_CONSISTENT;
  std::set<Address> seen;
  while (next && *next != 0) {
    if (seen.size() == kMaxLinks || !seen.insert(*next).second) return map;
    auto link = read_value<LoadedLink>(memory, *next);
    if (!link) return map;
    next = link->next;
    map.links.push_back(*link);
  }
  map.complete = next.has_value();
  return map;
}

// This reads aligned pieces, which never cross a page, because the page behind the text may not be
// mapped.
std::string target_text(const MemorySource& memory, Address address) {
  std::string text;
  std::array<char, 64> piece;
  while (text.size() < kMaxText) {
    const std::size_t size = piece.size() - (address + text.size()) % piece.size();
    const std::span<char> part = std::span(piece).first(size);
    if (!memory.read(address + text.size(), std::as_writable_bytes(part))) break;
    const auto end = std::ranges::find(part, '\0');
    text.append(part.begin(), end);
    if (end != part.end()) break;
  }
  return text;
}

}  // namespace labelscope
