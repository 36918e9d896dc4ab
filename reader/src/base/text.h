// Numbers and names in sentences: addresses as "0x1f80", distances as "-0x20", files by their last
// part.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace labelscope {

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

inline std::string signed_hex(std::int64_t value) {
  return value < 0 ? "-" + hex(0 - static_cast<std::uint64_t>(value))
                   : hex(static_cast<std::uint64_t>(value));
}

// "the block plus 0x18", "the thread pointer minus 0x20".
inline std::string distance_from(const std::string& place, std::int64_t offset) {
  return offset < 0 ? place + " minus " + hex(0 - static_cast<std::uint64_t>(offset))
                    : place + " plus " + hex(static_cast<std::uint64_t>(offset));
}

// "libfoo.so" of "/usr/lib/libfoo.so".
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace labelscope
