#include "cli/step/code_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace labelscope::cli {
namespace {

// Read at once; the pieces overlap by what an instruction may need.
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kOverlap = 64;
// More are not code that sets labels.
constexpr std::size_t kMaxFound = 100'000;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)

// A displacement or an immediate of 32 bits; behind a displacement that is relative to the next
// instruction there may be an immediate of 1 or 4 bytes.
bool refers(const std::byte* at, Address address, const VariableReferences& wanted) {
  const auto number = std::int64_t{load<std::int32_t>(at)};
  for (std::int64_t offset : wanted.tp_offsets) {
    if (number == offset) return true;
  }
  const Address next = address + sizeof(std::int32_t) + static_cast<Address>(number);
  for (Address slot : wanted.slots) {
    if (slot == next || slot == next + 1 || slot == next + 4) return true;
  }
  return false;
}

constexpr std::size_t kStride = 1;

#elif defined(__aarch64__)

// The low 12 bits, as they are (add) or scaled by 8 (ldr), or 16 bits of a constant: enough to
// suspect, if the thread pointer is read near by.
bool has_number(std::uint32_t word, std::uint64_t number) {
  const std::uint32_t low = number & 0xFFF;
  const bool add = (word & 0xFFC0'0000) == 0x9100'0000 && ((word >> 10) & 0xFFF) == low;
  const bool ldr = (word & 0xFFC0'0000) == 0xF940'0000 && ((word >> 10) & 0xFFF) * 8 == low;
  const bool mov = (word & 0x7F80'0000) == 0x7280'0000 || (word & 0x7F80'0000) == 0x5280'0000;
  return add || ldr || (mov && ((word >> 5) & 0xFFFF) == (number & 0xFFFF));
}

bool refers(const std::byte* at, Address /*address*/, const VariableReferences& wanted) {
  constexpr std::size_t kNear = kOverlap / 4;
  if ((load<std::uint32_t>(at) & 0xFFFF'FFE0) != 0xD53B'D040) return false;  // mrs, tpidr_el0
  for (std::size_t i = 1; i < kNear; ++i) {
    const auto word = load<std::uint32_t>(at + i * 4);
    for (std::int64_t offset : wanted.tp_offsets) {
      if (has_number(word, static_cast<std::uint64_t>(offset))) return true;
    }
    for (Address slot : wanted.slots) {
      if (has_number(word, slot)) return true;
    }
  }
  return false;
}

constexpr std::size_t kStride = 4;

#endif

}  // namespace

std::vector<Address> find_references(const Breakpoints& memory, Address start, Address end,
                                     const VariableReferences& wanted) {
  std::vector<Address> found;
  if (wanted.tp_offsets.empty() && wanted.slots.empty()) return found;
  std::vector<std::byte> piece(kPiece + kOverlap);
  for (Address at = start; at < end; at += kPiece) {
    const std::size_t want = std::min<Address>(piece.size(), end - at);
    const std::size_t size = memory.read(at, std::span(piece).first(want));
    // Zeros behind the end, so that looking ahead is allowed everywhere.
    std::fill(piece.begin() + static_cast<std::ptrdiff_t>(size), piece.end(), std::byte{0});
    for (std::size_t i = 0; i < std::min(size, kPiece); i += kStride) {
      if (!refers(piece.data() + i, at + i, wanted)) continue;
      found.push_back(at + i);
      if (found.size() == kMaxFound) return found;
    }
  }
  return found;
}

}  // namespace labelscope::cli
