#include "cli/step/code_scan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#if defined(__aarch64__)
#include "cli/step/aarch64_code.h"
#endif

namespace labelscope::cli {
namespace {

// Read at once; the pieces overlap by what an instruction may need.
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kOverlap = 512;
// More are not code that sets labels.
constexpr std::size_t kMaxFound = 100'000;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)

// A displacement or an immediate of 32 bits. What reaches a slot (mov, add, lea) has nothing behind
// its displacement, which is relative to the next instruction.
bool refers(const std::byte* at, Address address, const VariableReferences& wanted) {
  const auto number = std::int64_t{load<std::int32_t>(at)};
  for (std::int64_t offset : wanted.tp_offsets) {
    if (number == offset) return true;
  }
  const Address next = address + sizeof(std::int32_t) + static_cast<Address>(number);
  for (Address slot : wanted.slots) {
    if (slot == next) return true;
  }
  return false;
}

constexpr std::size_t kStride = 1;

#elif defined(__aarch64__)

bool refers(const std::byte* at, Address address, const VariableReferences& wanted) {
  if (!aarch64::may_begin_reference(load<std::uint32_t>(at))) return false;
  std::array<std::uint32_t, aarch64::kWordsAhead> words;
  static_assert(sizeof words <= kOverlap);
  std::memcpy(words.data(), at, sizeof words);
  return aarch64::begins_reference(address, words, wanted);
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
