// Objects of JavaScript in made-up memory, as V8 lays them out: a thread's entry, the map of a
// frame, and the objects that lead from there to a record.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "labelscope/process_facts.h"
#include "labelscope/tls_recipe.h"
#include "sources/label_source.h"
#include "support/fake_memory.h"
#include "support/otel_bytes.h"

namespace labelscope::test {

struct NodeMemory {
  static constexpr Address kThreadPointer = 0x5000'0800;
  static constexpr Address kEntry = kThreadPointer - 64;
  static constexpr Address kSlot = 0x7100'0000;
  static constexpr Address kKeyHandle = 0x7100'0008;
  static constexpr Address kKey = 0x7110'0000;
  static constexpr Address kUndefined = 0x7120'0000;
  static constexpr Address kMap = 0x7130'0000;
  static constexpr Address kTable = 0x7140'0000;
  static constexpr Address kNumbers = kTable + 16;
  static constexpr Address kObject = 0x7150'0000;
  static constexpr Address kNative = 0x7160'0000;
  static constexpr Address kRecord = 0x7170'0000;
  static constexpr std::uint32_t kBuckets = 4;
  static constexpr std::uint32_t kHash = 6;
  static constexpr std::uint64_t kEnd = std::uint64_t{UINT32_MAX} << 32;

  static constexpr std::uint64_t object(Address address) { return address + 1; }
  static constexpr std::uint64_t small(std::uint64_t number) { return number << 32; }

  // Makes the objects of the newest writer, with one entry in the map: that of the key.
  NodeMemory() {
    recipe.kind = LS_TP_OFFSET;
    recipe.offset = static_cast<std::int64_t>(kEntry - kThreadPointer);
    recipe.source = LS_SOURCE_NODE;
    adapt(nullptr);
    memory.put(kEntry, kSlot);
    memory.put(kEntry + 8, kKeyHandle);
    memory.put(kEntry + 16, kHash);
    put_record_offset(32);
    memory.put(kEntry + 24, object(kUndefined));
    memory.put(kSlot, object(kMap));
    memory.put(kKeyHandle, object(kKey));
    memory.put(kMap + 24, object(kTable));
    put_numbers(small(1), small(0), small(kBuckets));
    for (std::uint32_t i = 0; i < kBuckets; ++i) put_head(i, kEnd);
    put_head(kHash % kBuckets, small(0));
    put_entry(0, object(kKey), object(kObject), kEnd);
    memory.put(kObject + 32, kRecord);
    memory.put_text(kRecord, otel::Record().add(0, "/pay").bytes());
  }

  void put_record_offset(std::uint8_t offset) { memory.put(kEntry + 20, offset); }
  void put_numbers(std::uint64_t elements, std::uint64_t deleted, std::uint64_t buckets) {
    memory.put(kNumbers, elements);
    memory.put(kNumbers + 8, deleted);
    memory.put(kNumbers + 16, buckets);
  }
  void put_head(std::uint32_t bucket, std::uint64_t word) {
    memory.put(kNumbers + 24 + 8 * bucket, word);
  }
  void put_entry(std::uint32_t number, std::uint64_t key, std::uint64_t value, std::uint64_t next) {
    const Address at = kNumbers + 24 + 8 * kBuckets + 24 * number;
    memory.put(at, key);
    memory.put(at + 8, value);
    memory.put(at + 16, next);
  }
  // Puts "undefined" where writers before 5.20 have it.
  void put_undefined_elsewhere() {
    memory.put(kSlot + 16, object(kUndefined));
    memory.put(kEntry + 24, kSlot + 16);
  }
  // Applies what the process says of its objects.
  void adapt(const ProcessFacts* facts) { find_source(LS_SOURCE_NODE)->adapt(facts, recipe); }
  void adapt(Numbers numbers) {
    ProcessFacts facts;
    facts.numbers = std::move(numbers);
    put_record_offset(0);
    put_undefined_elsewhere();
    adapt(&facts);
  }

  FakeMemory memory;
  ls_tls_recipe recipe{};
};

}  // namespace labelscope::test
