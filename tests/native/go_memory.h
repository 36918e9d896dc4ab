// A goroutine with labels, laid out in made-up memory like the runtime of some version of Go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sources/go_labels/go_walk.h"
#include "support/fake_memory.h"

namespace labelscope::test {

class GoMemory {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  static constexpr Address kThreadPointer = 0x5000'0800;
  static constexpr Address kSlot = kThreadPointer - 8;
  static constexpr Address kText = 0x40'0000;
  static constexpr Address kTextEnd = 0x50'0000;
  static constexpr Address kM = 0xc0'0000'0000;
  static constexpr Address kG0 = 0xc0'0001'0000;
  static constexpr Address kG = 0xc0'0002'0000;
  static constexpr Address kLabels = 0xc0'0003'0000;
  static constexpr Address kMap = 0xc0'0003'0100;
  static constexpr Address kBuckets = 0xc0'0004'0000;
  static constexpr Address kOldBuckets = 0xc0'0006'0000;
  static constexpr Address kOverflow = 0xc0'0008'0000;
  static constexpr Address kStrings = 0xc0'000a'0000;
  static constexpr Address kPairs = 0xc0'000f'0000;
  static constexpr std::uint64_t kBucketBytes = 272;
  static constexpr Tid kThread{17};

  // Makes a running goroutine of this version, without labels.
  explicit GoMemory(unsigned minor) : layout(*go_layout(minor)) {
    recipe.kind = LS_TP_OFFSET;
    recipe.source = LS_SOURCE_GO;
    recipe.offset = -8;
    put_parameters({layout, kText, kTextEnd}, recipe);
    memory.map(kSlot, 64);
    // The other words of these structures are mostly pointers to others.
    for (const Address start : {kM, kG0, kG}) {
      for (Address at = start; at < start + 512; at += 8) memory.put(at, kG0 + 0x800);
    }
    memory.map(kLabels, 4096);
    memory.put(kSlot, kG);
    for (const Address g : {kG, kG0}) memory.put(g + layout.g_m, kM);
    memory.put(kM + layout.m_procid, std::uint64_t{raw(kThread)});
    memory.put(curg(), kG);
    memory.put(kG + layout.g_labels - 64, kText + 16);
    memory.put(kG + layout.g_labels - 48, kText + 32);
  }

  Address curg() const { return kM + layout.m_procid + 120; }
  void set_labels(Address labels) { memory.put(kG + layout.g_labels, labels); }

  // Publishes the labels in the form of the version. A map is laid out as a runtime fills one that
  // never grew.
  GoMemory& publish(const Pairs& pairs) {
    set_labels(kLabels);
    if (layout.least_mark == 0) {
      for (std::size_t i = 0; i < pairs.size(); ++i) put_pair(kPairs + 32 * i, 16, pairs[i]);
      put_slice(kPairs, pairs.size(), pairs.size());
      return *this;
    }
    unsigned log = 0;
    while (pairs.size() > 8 && 2 * pairs.size() > std::size_t{13} << log) ++log;
    put_map(pairs.size(), 0, log, kBuckets, 0);
    fill(kBuckets, std::size_t{1} << log, pairs);
    return *this;
  }

  void put_slice(Address address, std::uint64_t length, std::uint64_t capacity) {
    memory.put(kLabels, address);
    memory.put(kLabels + 8, length);
    memory.put(kLabels + 16, capacity);
  }
  void put_map(std::uint64_t count, std::uint8_t flags, unsigned log, Address buckets,
               Address old) {
    memory.put(kLabels, kMap);
    memory.put(kMap, count);
    memory.put(kMap + 8, flags);
    memory.put(kMap + 9, static_cast<std::uint8_t>(log));
    memory.put(kMap + 16, buckets);
    memory.put(kMap + 24, old);
  }
  // Distributes the pairs over the buckets in turn; from the ninth pair on they go into overflow
  // buckets.
  void fill(Address buckets, std::size_t count, const Pairs& pairs) {
    memory.map(buckets, count * kBucketBytes);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Address bucket = buckets + (i % count) * kBucketBytes;
      for (std::size_t depth = i / count / 8; depth > 0; --depth) {
        Address next = 0;
        static_cast<void>(memory.read(bucket + 264, std::as_writable_bytes(std::span(&next, 1))));
        if (next == 0) memory.put(bucket + 264, next = new_overflow());
        bucket = next;
      }
      put_entry(bucket, i / count % 8, pairs[i]);
    }
  }
  void put_entry(Address bucket, std::size_t cell,
                 const std::pair<std::string, std::string>& pair) {
    memory.put(bucket + cell, static_cast<std::uint8_t>(layout.least_mark + cell));
    put_pair(bucket + 8 + 16 * cell, 128, pair);
  }

  GoLayout layout;
  ls_tls_recipe recipe{};
  FakeMemory memory;

 private:
  Address new_overflow() {
    memory.map(next_overflow_, kBucketBytes);
    return std::exchange(next_overflow_, next_overflow_ + kBucketBytes);
  }
  void put_string(Address at, const std::string& text) {
    memory.put(at, text.empty() ? Address{0} : next_string_);
    memory.put(at + 8, std::uint64_t{text.size()});
    memory.put_text(next_string_, text);
    next_string_ += text.size();
  }
  // A key and its value are adjacent in a slice, and apart in a bucket.
  void put_pair(Address at, Address distance, const std::pair<std::string, std::string>& pair) {
    put_string(at, pair.first);
    put_string(at + distance, pair.second);
  }
  Address next_string_ = kStrings;
  Address next_overflow_ = kOverflow;
};

}  // namespace labelscope::test
