// The two hash functions of dynamic symbol tables: System V gABI ("Hash Table") and GNU.
#pragma once

#include <cstdint>
#include <string_view>

namespace labelscope {

inline std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

inline std::uint32_t sysv_hash_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    std::uint32_t high = hash & 0xf0000000U;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

}  // namespace labelscope
