// These functions take fields out of aarch64's instruction words, and compute where direct branches
// and adrp lead.
//
// Source: Arm Architecture Reference Manual for A-profile, section C4.1 (encodings by class).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace labelscope::a64 {

inline constexpr std::size_t kInstructionSize = 4;

// Returns bits `high` to `low`, both included.
constexpr std::uint32_t bits(std::uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & ((1U << (high - low + 1)) - 1);
}

constexpr std::int64_t signed_bits(std::uint32_t word, unsigned high, unsigned low) {
  const std::int64_t sign = std::int64_t{1} << (high - low);
  return (std::int64_t{bits(word, high, low)} ^ sign) - sign;
}

constexpr bool is_direct_call(std::uint32_t word) { return bits(word, 31, 26) == 0x25; }  // bl
constexpr bool is_plain_jump(std::uint32_t word) { return bits(word, 31, 26) == 0x05; }   // b

// Returns where a direct jump or call leads, in bytes relative to itself.
constexpr std::optional<std::int64_t> branch_distance(std::uint32_t word) {
  auto distance = [word](unsigned high, unsigned low) {
    return signed_bits(word, high, low) * std::int64_t{kInstructionSize};
  };
  if (is_plain_jump(word) || is_direct_call(word)) return distance(25, 0);
  if (bits(word, 31, 24) == 0x54) return distance(23, 5);  // b.cond
  if (bits(word, 30, 25) == 0x1A) return distance(23, 5);  // cbz, cbnz
  if (bits(word, 30, 25) == 0x1B) return distance(18, 5);  // tbz, tbnz
  return std::nullopt;
}

constexpr bool is_adrp(std::uint32_t word) {
  return bits(word, 31, 31) == 1 && bits(word, 28, 24) == 0x10;
}
// Returns the page to which an adrp at `address` leads.
constexpr std::uint64_t adrp_page(std::uint32_t word, std::uint64_t address) {
  const std::int64_t pages = signed_bits(bits(word, 23, 5) << 2 | bits(word, 30, 29), 20, 0);
  return (address & ~std::uint64_t{0xFFF}) + (static_cast<std::uint64_t>(pages) << 12);
}

enum class ThroughRegister : std::uint8_t { kNo, kJump, kCall, kReturn };

// Decodes "Unconditional branch (register)". The kind is in bits 24 to 21; bit 24 alone is set if
// the address is authenticated first, except in a return.
constexpr ThroughRegister through_register(std::uint32_t word) {
  if (bits(word, 31, 25) != 0x6B) return ThroughRegister::kNo;
  switch (bits(word, 24, 21)) {
    case 0:
    case 8:
      return ThroughRegister::kJump;
    case 1:
    case 9:
      return ThroughRegister::kCall;
    case 2:
      return ThroughRegister::kReturn;
    default:
      return ThroughRegister::kNo;  // only the kernel uses it
  }
}

}  // namespace labelscope::a64
