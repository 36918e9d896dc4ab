// Finds the elements of a vector by their contents: a hash table that stores only indices and bits
// of their hashes. A look-up touches one cache line here and one in the vector, which is what
// counts with millions of rows, and no element is stored twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

class IndexTable {
 public:
  // Returns the inserted index for which is_same(index) is true, or else inserts `next` and returns
  // it. Calls is_same() only for indices of equal hashes.
  template <class IsSame>
  Index find_or_insert(std::uint64_t hash, Index next, IsSame is_same) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const std::uint32_t short_hash = short_of(hash);
    std::size_t at = short_hash & (slots_.size() - 1);
    for (; slots_[at].index != kNoIndex; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == short_hash && is_same(slots_[at].index)) return slots_[at].index;
    }
    slots_[at] = {short_hash, next};
    ++count_;
    return next;
  }

  // Asks for the memory in which a look-up of this hash begins. With millions of elements it is in
  // no cache, and takes some hundred nanoseconds to come.
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[short_of(hash) & (slots_.size() - 1)]);
  }
  // Returns the element that a look-up of this hash meets first, or kNoIndex.
  Index first_met(std::uint64_t hash) const {
    return slots_.empty() ? kNoIndex : slots_[short_of(hash) & (slots_.size() - 1)].index;
  }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  struct Slot {
    std::uint32_t hash = 0;
    Index index = kNoIndex;
  };

  static std::uint32_t short_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
  }

  void grow() {
    std::vector<Slot> larger(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.index == kNoIndex) continue;
      std::size_t at = slot.hash & (larger.size() - 1);
      while (larger[at].index != kNoIndex) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;  // their number is a power of two; at most half of them are used
  std::size_t count_ = 0;
};

// These decide when two entries of a profile's tables are equal. The bytes come from targets: one
// that knew the hash function could make all its label sets collide, so it has a secret seed.
std::uint64_t hash_of_bytes(std::string_view bytes);
std::uint64_t hash_of(const LabelSet& labels);
std::uint64_t hash_of(const Stack& stack);

// For std::unordered_map.
struct HashOfWaitGroup {
  std::size_t operator()(const WaitGroup& group) const;
};

// Asks for the memory of a row, which with millions of rows takes as long as rendering one. The row
// may lie in two lines of the cache.
inline void prefetch(const SampleRow& row) {
  __builtin_prefetch(&row);
  __builtin_prefetch(&row.value);
}

// These two are for rows without a time.
std::uint64_t hash_of(const SampleRow& row);
bool same_row(const SampleRow& a, const SampleRow& b);

}  // namespace labelscope::cli
