// A place in a section of debug information. It reads forward and never past the end; there
// everything is 0. Numbers are little-endian. Source: DWARF 5, section 7.6 (LEB128).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace labelscope::cli {

class DebugBytes {
 public:
  explicit DebugBytes(std::span<const std::byte> bytes)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  bool empty() const { return at_ == end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - at_); }
  void skip(std::uint64_t count) { at_ += std::min<std::uint64_t>(count, size()); }
  // Keeps only the next `count` bytes.
  void cut(std::uint64_t count) { end_ = at_ + std::min<std::uint64_t>(count, size()); }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : *at_++; }
  std::uint64_t number(std::size_t size_of_it) {
    std::uint64_t value = 0;
    const std::size_t there = std::min({size_of_it, size(), sizeof value});
    std::memcpy(&value, at_, there);
    skip(size_of_it);
    return value;
  }
  std::uint64_t leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !empty(); shift += 7) {
      const std::uint8_t part = byte();
      if (shift < 64) value |= std::uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !empty(); shift += 7) {
      const std::uint8_t part = byte();
      if (shift < 64) value |= std::uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80) != 0) continue;
      if ((part & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      break;
    }
    return static_cast<std::int64_t>(value);
  }
  std::string_view text() {
    const auto length = ::strnlen(reinterpret_cast<const char*>(at_), size());
    const std::string_view found(reinterpret_cast<const char*>(at_), length);
    skip(length + 1);
    return found;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace labelscope::cli
