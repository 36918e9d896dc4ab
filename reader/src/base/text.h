// Numbers and names in sentences: addresses, distances, bytes, files by their last part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace labelscope {

// "0x1f80"
inline std::string hex(std::uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

// "000000000000002a": all 16 digits.
inline std::string hex_digits(std::uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

// "-0x20"
inline std::string signed_hex(std::int64_t value) {
  return value < 0 ? "-" + hex(0 - static_cast<std::uint64_t>(value))
                   : hex(static_cast<std::uint64_t>(value));
}

// "the block plus 0x18", "the thread pointer minus 0x20".
inline std::string distance_from(const std::string& place, std::int64_t offset) {
  return offset < 0 ? place + " minus " + hex(0 - static_cast<std::uint64_t>(offset))
                    : place + " plus " + hex(static_cast<std::uint64_t>(offset));
}

// "1f80": two digits for each byte.
inline std::string hex_bytes(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// "libfoo.so" of "/usr/lib/libfoo.so"; not escaped.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace labelscope
