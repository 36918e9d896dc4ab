// This is the record of OpenTelemetry's thread context (OTEP 4947), packed, at any address:
//
//   offset  0   trace ID, 16 bytes, all 0: none
//          16   span ID, 8 bytes, all 0: none
//          24   valid: 1, or this is no record
//          25   trace flags
//          26   size of the attributes in bytes, 2
//          28   attributes, each: key, 1 | length, 1 | value
//
// A key is a number, an index into names that the process publishes once (process_facts.h). The
// last of equal keys counts. If the last attribute does not fit into the size, it is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/process_facts.h"
#include "sources/label_source.h"

namespace labelscope::otel {

struct Head {
  std::array<std::byte, 16> trace_id;
  std::array<std::byte, 8> span_id;
  std::uint8_t valid;
  std::uint8_t trace_flags;
  std::uint16_t attribute_bytes;
};
static_assert(sizeof(Head) == 28 && alignof(Head) <= 2);

inline constexpr std::uint8_t kValid = 1;
// So much of the attributes is read: together with the head, the room of one publisher in a sample.
inline constexpr std::size_t kMostAttributeBytes = LS_MAX_LABEL_BYTES - sizeof(Head);

// One attribute, and where the record breaks off.
struct Attribute {
  std::uint8_t key = 0;
  std::span<const std::byte> value;
};
class AttributeReader {
 public:
  explicit AttributeReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool next(Attribute& attribute);
  // Returns the number of bytes behind the last whole attribute.
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

// Returns the attributes of a raw block, which is a head, and as many bytes behind it as were read.
std::span<const std::byte> attributes_of(const Head& head, std::span<const std::byte> raw);

// What is at an address: the head and its attributes as a raw block, or where the reading ended.
struct RecordReading {
  enum class End { kNull, kHead, kNotValid, kAttributes, kWhole };
  End end = End::kNull;
  Address record = 0;
  Head head{};
  RawReading raw;
};
RecordReading read_record(const MemorySource& memory, Address record);
// Writes the same in sentences. Returns false if there is no whole record, so that nothing is left
// to write.
bool explain_record(const RecordReading& seen, const ProcessFacts* facts, ReadingStory& story);

// Returns why a key has no name, if it has none.
std::optional<Finding> find_unnamed(std::uint8_t key, const ProcessFacts* facts);
// Returns the name of a key, or nothing.
std::string_view name_of(std::uint8_t key, const ProcessFacts* facts);
// Adds an ID in hexadecimal digits, unless all of it is 0, which means that it is not set.
void add_id(std::span<const std::byte> id, const char* key, std::uint8_t publisher,
            LabelSet& labels);
// The IDs at the front of a record.
inline constexpr std::string_view kIds[] = {"trace_id", "span_id"};
inline constexpr std::uint8_t kIdBytes = sizeof(Head::trace_id) + sizeof(Head::span_id);

// Adds trace_id and span_id.
void add_ids(const Head& head, std::uint8_t publisher, LabelSet& labels);

// Checks the rules of the record and of the process context (check_record.cc).
SetCheck check_record(const ThreadView& thread);

// Returns the labels of a raw block, as both walks make it. `facts` may be null.
Observation decode(std::span<const std::byte> raw, std::uint8_t publisher,
                   const ProcessFacts* facts);

}  // namespace labelscope::otel
