// Reads values of any alignment out of bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace labelscope {

// The caller has checked that the bytes have a whole value there.
template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace labelscope
