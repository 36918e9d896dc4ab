#include "cli/profile/byte_cache.h"

#include <cstring>

namespace labelscope::cli {

std::string_view ByteCache::bytes_at(Index place) {
  const Entry* entry = entry_at(place);
  return {reinterpret_cast<const char*>(entry + 1), entry->size};  // NOLINT: bytes are bytes
}

Index& ByteCache::index_of(std::string_view bytes) {
  const std::size_t size = (sizeof(Entry) + bytes.size() + kUnit - 1) / kUnit * kUnit;
  const auto next = static_cast<Index>(bytes_.size() / kUnit);
  const Index place = slots_.find_or_insert(
      hash_of_bytes(bytes), next, [&](Index known) { return bytes_at(known) == bytes; },
      [&](Index known) { return hash_of_bytes(bytes_at(known)); });
  if (place == next) {
    if (bytes_.size() + size > kMaxBytes && !bytes_.empty()) {
      clear();
      return index_of(bytes);
    }
    bytes_.resize(bytes_.size() + size);
    *entry_at(place) = {kNoIndex, static_cast<std::uint32_t>(bytes.size())};
    if (!bytes.empty()) std::memcpy(entry_at(place) + 1, bytes.data(), bytes.size());
  }
  return entry_at(place)->index;
}

void ByteCache::clear() {
  slots_ = {};
  bytes_.clear();
}

}  // namespace labelscope::cli
