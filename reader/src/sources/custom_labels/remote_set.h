// These are the ABI's structures as they are in a target: its pointers are only addresses here.
#pragma once

#include <cstdint>

#include "customlabels/label_abi.h"
#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope {

struct RemoteString {
  std::uint64_t length;
  Address address;
};
struct RemoteLabel {
  RemoteString key;
  RemoteString value;
};
struct RemoteSet {
  Address storage;
  std::uint64_t count;
  std::uint64_t capacity;
};
static_assert(sizeof(RemoteLabel) == sizeof(custom_labels_label_t) &&
              sizeof(RemoteSet) == sizeof(custom_labels_labelset_t));

// No user address on either processor has a bit above these (5-level page tables have 57-bit
// addresses).
inline constexpr std::uint64_t kAddressEnd = 1ULL << 57;

// Returns whether so many bytes can be there at all: they end within the address space. `address`
// is untagged.
constexpr bool fits_address_space(Address address, std::uint64_t size) {
  return size < kAddressEnd && address < kAddressEnd && address + size <= kAddressEnd;
}

}  // namespace labelscope
