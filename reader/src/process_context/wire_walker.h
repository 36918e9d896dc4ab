// WireWalker goes through the fields of a protobuf message within bounds (protobuf.dev,
// "Encoding"). A message of a target is hostile: nothing is allocated, and each field lies wholly
// in the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace labelscope {

class WireWalker {
 public:
  using Bytes = std::span<const std::byte>;
  explicit WireWalker(Bytes message) : rest_(message) {}

  // Moves to the next field. Returns false if there is none, or if the next bytes are no field.
  bool next() {
    if (rest_.empty() || broken_) return false;
    const auto tag = varint();
    broken_ = !tag || *tag >> 3 == 0 || *tag >> 3 > kLargestField || !take(*tag & 7);
    if (!broken_) field = static_cast<std::uint32_t>(*tag >> 3);
    return !broken_;
  }
  bool broken() const { return broken_; }

  std::uint32_t field = 0;
  bool has_bytes = false;    // true for a string, bytes or a message; otherwise it is a number
  std::uint64_t number = 0;  // a varint, or the bits of a fixed number
  Bytes bytes;

 private:
  static constexpr std::uint64_t kLargestField = (1 << 29) - 1;
  enum Type : std::uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }
  bool fixed(std::size_t size) {
    if (rest_.size() < size) return false;
    number = 0;
    // both processors are little-endian, as is the format
    std::memcpy(&number, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return true;
  }
  bool take(std::uint64_t type) {
    has_bytes = type == kLength;
    if (type == kFixed64) return fixed(8);
    if (type == kFixed32) return fixed(4);
    if (type != kVarint && type != kLength) return false;  // only proto2 has groups
    const auto value = varint();
    if (!value) return false;
    number = *value;
    if (type == kVarint) return true;
    if (number > rest_.size()) return false;
    bytes = rest_.first(number);
    rest_ = rest_.subspan(number);
    return true;
  }

  Bytes rest_;
  bool broken_ = false;
};

}  // namespace labelscope
