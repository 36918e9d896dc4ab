// Finds the elements of a vector by their contents: a hash table with 4 bytes for each slot. A slot
// holds an index, and in the bits that no index needs some of the element's hash. A look-up touches
// one cache line here and one in the vector, which is what counts with millions of rows, and no
// element is stored twice.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/profile/page_allocator.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// These find equal entries of a profile's tables. Bytes and addresses come from targets: one that
// knew the hash function could make all its label sets collide, so all have a secret seed.
std::uint64_t hash_of_bytes(std::string_view bytes);
std::uint64_t hash_of(const LabelSet& labels);
std::uint64_t hash_of(const Stack& stack);
// These two are for rows without a time.
std::uint64_t hash_of(const SampleRow& row);
bool same_row(const SampleRow& a, const SampleRow& b);

// The hash of the standard library's tables by texts and numbers that a file or a target chose. Its
// own hash of a number is the number, and that of a text is known to everybody.
struct SecretHash {
  std::size_t operator()(std::string_view bytes) const { return hash_of_bytes(bytes); }
  std::size_t operator()(std::uint64_t number) const {
    return hash_of_bytes({reinterpret_cast<const char*>(&number), sizeof number});
  }
  std::size_t operator()(std::int32_t number) const {
    return (*this)(static_cast<std::uint64_t>(number));
  }
};

class IndexTable {
 public:
  // Returns the inserted index for which is_same(index) is true, or else inserts `next`, which is
  // larger than all before it, and returns it. Calls is_same() only for indices whose hashes are
  // probably equal. hash_at(index) is the hash of one that was inserted, for when the table grows.
  template <class IsSame, class HashAt>
  Index find_or_insert(std::uint64_t hash, Index next, IsSame is_same, HashAt hash_at) {
    if (4 * (count_ + 1) > 3 * slots_.size() || next >= index_bits_) grow(next, hash_at);
    std::size_t at = place_of(hash);
    for (; slots_[at] != kFree; at = after(at)) {
      if (has_tag(slots_[at], hash) && is_same(slots_[at] & index_bits_)) {
        return slots_[at] & index_bits_;
      }
    }
    slots_[at] = slot_of(hash, next);
    ++count_;
    return next;
  }

  // The same for the elements of a vector, or the first of them. The caller puts a new one behind
  // them. Rows must have no time.
  template <class Element>
  using Elements = std::type_identity_t<std::span<const Element>>;
  template <class Element>
  Index find_or_insert(const Element& element, Elements<Element> elements) {
    return find_or_insert(hash_of(element), element, elements);
  }
  template <class Element>
  Index find_or_insert(std::uint64_t hash, const Element& element, Elements<Element> elements) {
    const auto is_same = [&](Index index) {
      if constexpr (std::is_same_v<Element, SampleRow>) {
        return same_row(elements[index], element);
      } else {
        return elements[index] == element;
      }
    };
    return find_or_insert(hash, static_cast<Index>(elements.size()), is_same,
                          [&](Index index) { return hash_of(elements[index]); });
  }

  // Returns where an element is, or kNoIndex.
  template <class Element>
  Index find(const Element& element, Elements<Element> elements) const {
    if (slots_.empty()) return kNoIndex;
    const std::uint64_t hash = hash_of(element);
    for (std::size_t at = place_of(hash); slots_[at] != kFree; at = after(at)) {
      const Index index = slots_[at] & index_bits_;
      if (has_tag(slots_[at], hash) && elements[index] == element) return index;
    }
    return kNoIndex;
  }

  // Asks for the memory in which a look-up of this hash begins. With millions of elements it is in
  // no cache, and takes some hundred nanoseconds to come.
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place_of(hash)]);
  }
  // Returns the element that a look-up of this hash will probably find, or kNoIndex.
  Index first_met(std::uint64_t hash) const {
    if (slots_.empty()) return kNoIndex;
    const Index slot = slots_[place_of(hash)];
    return slot != kFree && has_tag(slot, hash) ? slot & index_bits_ : kNoIndex;
  }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  // From here on, memory counts for more than the time to grow.
  static constexpr std::size_t kManySlots = std::size_t{1} << 20;
  static constexpr Index kFree = UINT32_MAX;

  // The high half of a hash is spread over all slots, whatever their number; the low half has the
  // tag.
  std::size_t place_of(std::uint64_t hash) const { return (hash >> 32) * slots_.size() >> 32; }
  std::size_t after(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  bool has_tag(Index slot, std::uint64_t hash) const {
    return ((slot ^ static_cast<Index>(hash)) & ~index_bits_) == 0;
  }
  Index slot_of(std::uint64_t hash, Index index) const {
    return (static_cast<Index>(hash) & ~index_bits_) | index;
  }

  // Makes the table larger, or its indices longer. Elements are entered in the order of their
  // indices: in the order of the slots each would be a miss of the cache.
  template <class HashAt>
  void grow(Index next, HashAt hash_at) {
    std::vector<bool> inserted(next);
    for (const Index slot : slots_) {
      if (slot != kFree) inserted[slot & index_bits_] = true;
    }
    std::size_t size = slots_.size();
    if (4 * (count_ + 1) > 3 * size) size = size_after(size);
    slots_ = {};  // before the new ones are there
    slots_.assign(size, kFree);
    const std::uint64_t most = std::max<std::uint64_t>(2 * (next + std::uint64_t{1}), kFirstSlots);
    index_bits_ = static_cast<Index>(std::min<std::uint64_t>(std::bit_ceil(most) - 1, UINT32_MAX));
    std::array<std::pair<std::uint64_t, Index>, 16> ahead;  // those whose slots are on their way
    std::size_t waiting = 0;
    const auto enter_all = [&] {
      for (std::size_t i = 0; i < waiting; ++i) {
        std::size_t at = place_of(ahead[i].first);
        while (slots_[at] != kFree) at = after(at);
        slots_[at] = slot_of(ahead[i].first, ahead[i].second);
      }
      waiting = 0;
    };
    for (Index index = 0; index < next; ++index) {
      if (!inserted[index]) continue;
      if (waiting == ahead.size()) enter_all();
      ahead[waiting++] = {hash_at(index), index};
      prefetch(ahead[waiting - 1].first);
    }
    enter_all();
  }

  static std::size_t size_after(std::size_t size) {
    if (size == 0) return kFirstSlots;
    return size < kManySlots ? 2 * size : size + size / 2;
  }

  std::vector<Index, PageAllocator<Index>> slots_;  // at most three quarters of them are used
  Index index_bits_ = 0;                            // of a slot: those that hold its index
  std::size_t count_ = 0;
};

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

}  // namespace labelscope::cli
