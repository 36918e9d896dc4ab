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
  std::uint64_t leb() { return read_leb().value; }
  std::int64_t signed_leb() {
    Leb found = read_leb();
    if (found.is_negative && found.bits < 64) found.value |= ~std::uint64_t{0} << found.bits;
    return static_cast<std::int64_t>(found.value);
  }
  std::string_view text() {
    const auto length = ::strnlen(reinterpret_cast<const char*>(at_), size());
    const std::string_view found(reinterpret_cast<const char*>(at_), length);
    skip(length + 1);
    return found;
  }

 private:
  struct Leb {
    std::uint64_t value = 0;
    unsigned bits = 0;
    bool is_negative = false;  // if it has a sign
  };
  Leb read_leb() {
    Leb found;
    while (!empty()) {
      const std::uint8_t part = byte();
      if (found.bits < 64) found.value |= std::uint64_t{part & 0x7FU} << found.bits;
      found.bits += 7;
      if ((part & 0x80) != 0) continue;
      found.is_negative = (part & 0x40) != 0;
      break;
    }
    return found;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace labelscope::cli
