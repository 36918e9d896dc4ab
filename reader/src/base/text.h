// These functions write numbers and names in sentences: addresses, distances, bytes, files by their
// last part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope {

// Returns "0x1f80".
inline std::string hex(std::uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

// Returns "000000000000002a": all 16 digits.
inline std::string hex_digits(std::uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

// Returns "-0x20".
inline std::string signed_hex(std::int64_t value) {
  return value < 0 ? "-" + hex(0 - static_cast<std::uint64_t>(value))
                   : hex(static_cast<std::uint64_t>(value));
}

// Returns "the block plus 0x18", "the thread pointer minus 0x20".
inline std::string distance_from(const std::string& place, std::int64_t offset) {
  return offset < 0 ? place + " minus " + hex(0 - static_cast<std::uint64_t>(offset))
                    : place + " plus " + hex(static_cast<std::uint64_t>(offset));
}

// Returns "1f80": two digits for each byte.
inline std::string hex_bytes(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// Accepts no longer forms than needed, no surrogates, and nothing beyond U+10FFFF (RFC 3629).
inline bool is_utf8(std::string_view text) {
  constexpr std::array<std::uint32_t, 4> kLeast{0, 0x80, 0x800, 0x10000};
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xc2 ? 4
                             : lead < 0xe0 ? 1
                             : lead < 0xf0 ? 2
                             : lead < 0xf5 ? 3
                                           : 4;
    if (more > 3 || text.size() - at < more) return false;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);
    for (std::size_t i = 0; i < more; ++i) {
      const auto next = static_cast<unsigned char>(text[at++]);
      if ((next & 0xc0U) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  }
  return true;
}

// Returns "libfoo.so" of "/usr/lib/libfoo.so", not escaped.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Returns how many changes of a letter turn one into the other (Levenshtein). Callers propose the
// name that the user may have meant.
inline std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (one[i] == other[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace labelscope
