// This walk goes from the thread's entry to the record of the asynchronous work that runs:
//
//   variable, 32 bytes        V8's own words: a pointer to an object has 1 added, a small integer
//   |  0  slot ---------+     stands in the upper half of a word
//   |  8  key handle -+ |
//   | 16  hash, 4     | +-->  frame: `undefined`, or the map of all that belongs to this work
//   | 20  offset, 1   |         |
//   | 24  undefined * |         +-> table   elements, deleted, buckets
//                     |                     first entry of each bucket, or -1
//                     +-> key               entries: key, value, next of the bucket or -1
//                                                         |
//                                 record <--- object <----+
//
// * Before 5.20, the address of a word that is `undefined`. A pointer to an object is odd, so they
// can be distinguished.
//
// Where the table is in a map, and how its numbers begin, has been the same in node 22 to 26. How
// an object leads to its record has changed with the writer:
//
//   version    in the process context (threadlocal.)              the record is at
//   5.16       wrapped_object_offset                              *(*(object + that) + 24)
//   5.17       wrapped_object_offset, native_wrap_fields_offset   *(*(object + that) + the other)
//   5.19       js_object_record_offset                            *(object + that)
//   5.20       none; `offset` above is not 0                      *(object + offset)
//
// (5.16 to 5.19 publish 24 with each node, which is right for node 22. Since node 23 it is 32, and
// they lead to something that is no record.)
//
// So a recipe's first parameter has four numbers of 16 bits: the offset of the table in a map, of
// the numbers in a table, of the first step, and of the second one plus 1 (0 if there is none). All
// come from the process, which may be hostile: every read is checked, and a bucket is followed for
// at most kLongestChain entries.
//
// The writer sets the slot last and clears it first. JavaScript moves objects only while the thread
// is at a safe point, and labelscope reads stopped threads. A map that is just made larger has
// other words than numbers in its table: that is a torn reading.
#include "sources/node_context/node_context.h"

#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "sources/file_inspection.h"
#include "sources/otel_context/record.h"

namespace labelscope {
namespace {

constexpr const char* kSymbol = "otel_thread_ctx_nodejs_v1";
constexpr unsigned kLongestChain = 32;
constexpr std::uint32_t kEndOfChain = UINT32_MAX;
constexpr std::int64_t kTable = 24;
constexpr std::int64_t kHeader = 16;
constexpr std::int64_t kFields = 24;
constexpr std::int64_t kWord = 8;

struct Entry {
  Address slot;
  Address key_handle;
  std::uint32_t hash;
  std::uint8_t record_offset;
  std::array<std::uint8_t, 3> reserved;
  std::uint64_t undefined;
};
static_assert(sizeof(Entry) == 32);

bool is_object(std::uint64_t word) { return (word & 3) == 1; }
bool is_small(std::uint64_t word) { return static_cast<std::uint32_t>(word) == 0; }
std::uint64_t small(std::uint64_t word) { return word >> 32; }

// Where the walk ended: at a record's address, or before.
struct Found {
  ls_outcome outcome = LS_LABELLED;
  Address record = 0;
  std::string why;  // why there is none, for people
};

class Walker {
 public:
  Walker(const MemorySource& memory, std::uint64_t offsets)
      : memory_(memory),
        table_(offsets & 0xffff),
        header_(offsets >> 16 & 0xffff),
        first_(offsets >> 32 & 0xffff),
        second_(offsets >> 48) {}

  Found find(Address variable) {
    const auto thread = read<Entry>(variable);
    if (!thread) return lost("the thread's entry", variable);
    if (thread->slot == 0) {
      return {LS_UNLABELLED, 0, "the thread's entry is empty: no traced JavaScript runs in it now"};
    }
    const Address first = thread->record_offset != 0 ? thread->record_offset : first_;
    if (first == 0 || table_ == 0) {
      return {LS_UNREADABLE_NO_KEYS, 0,
              "neither the entry nor the process context says where an object has its record"};
    }
    const auto undefined = is_object(thread->undefined) ? std::optional(thread->undefined)
                                                        : read<std::uint64_t>(thread->undefined);
    if (!undefined) return lost("undefined", thread->undefined);
    const auto frame = read<std::uint64_t>(thread->slot);
    const auto key = read<std::uint64_t>(thread->key_handle);
    if (!frame) return lost("the pointer to the frame", thread->slot);
    if (!key) return lost("the key", thread->key_handle);
    if (*frame == *undefined) return {LS_UNLABELLED, 0, "no asynchronous work is traced now"};
    if (!is_object(*frame)) return malformed("the frame is no object", *frame);
    const auto table = read<std::uint64_t>(*frame - 1 + table_);
    if (!table) return lost("the frame's map", *frame - 1 + table_);
    if (!is_object(*table)) return malformed("the table of the frame's map is no object", *table);
    Found object = find_in(*table - 1 + header_, *key, thread->hash);
    if (object.outcome != LS_LABELLED) return object;
    if (object.record == *undefined) {
      return {LS_UNLABELLED, 0, "this work has no record"};
    }
    if (!is_object(object.record)) return malformed("what stands for the key", object.record);
    return follow(object.record - 1 + first, thread->record_offset != 0 ? 0 : second_);
  }

 private:
  template <class T>
  std::optional<T> read(Address address) const {
    auto value = read_value<T>(memory_, memory_.untagged(address));
    return value ? std::optional<T>(*value) : std::nullopt;
  }
  static Found lost(const std::string& what, Address address) {
    return {LS_UNREADABLE_NOT_RESIDENT, 0, what + " at " + hex(address) + " cannot be read"};
  }
  static Found malformed(const std::string& what, std::uint64_t word) {
    return {LS_UNREADABLE_MALFORMED, 0, what + ": " + hex(word)};
  }
  static Found torn() { return {LS_UNREADABLE_TORN, 0, "the map's table is just being replaced"}; }

  // Finds the value of the key, and puts it into `record`.
  Found find_in(Address numbers, std::uint64_t key, std::uint32_t hash) const {
    const auto counts = read<std::array<std::uint64_t, 3>>(numbers);
    if (!counts) return lost("the map's table", numbers);
    if (!is_small((*counts)[0] | (*counts)[1] | (*counts)[2])) return torn();
    const std::uint64_t entries = small((*counts)[0]) + small((*counts)[1]);
    const std::uint64_t buckets = small((*counts)[2]);
    if (!std::has_single_bit(buckets)) return malformed("the number of the map's buckets", buckets);
    const Address heads = numbers + sizeof *counts;
    const Address place = heads + kWord * (hash & (buckets - 1));
    auto next = read<std::uint64_t>(place);
    if (!next) return lost("a bucket of the map", place);
    for (unsigned i = 0; i < kLongestChain; ++i) {
      if (!is_small(*next)) return torn();
      if (small(*next) == kEndOfChain) {
        return {LS_UNLABELLED, 0, "the frame's map has nothing for the writer's key"};
      }
      if (small(*next) >= entries) return malformed("the number of a map's entry", small(*next));
      const Address at = heads + kWord * buckets + sizeof(MapEntry) * small(*next);
      const auto entry = read<MapEntry>(at);
      if (!entry) return lost("an entry of the map", at);
      if (entry->key == key) return {LS_LABELLED, entry->value, {}};
      next = entry->next;
    }
    return {LS_UNREADABLE_MALFORMED, 0,
            "a bucket of the map has more than " + std::to_string(kLongestChain) + " entries"};
  }

  // Goes from the object's field to the record. Returns 0 if there is none.
  Found follow(Address field, Address second) const {
    auto pointer = read<Address>(field);
    if (!pointer) return lost("the object", field);
    if (second != 0) {
      if (*pointer == 0) return {LS_UNLABELLED, 0, "the object has lost its native part"};
      const Address place = *pointer + second - 1;
      pointer = read<Address>(place);
      if (!pointer) return lost("the object's native part", place);
    }
    return {LS_LABELLED, memory_.untagged(*pointer), {}};
  }

  struct MapEntry {
    std::uint64_t key;
    std::uint64_t value;
    std::uint64_t next;
  };

  const MemorySource& memory_;
  Address table_;
  Address header_;
  Address first_;
  Address second_;  // the offset plus 1, or 0 if there is no second step
};

Found find_record(const ThreadView& thread) {
  return Walker(thread.memory, thread.recipe == nullptr ? 0 : thread.recipe->parameters[0])
      .find(thread.variable);
}

// Returns nothing if the process publishes a number that no offset can be.
std::optional<std::uint64_t> offset_of(const ProcessFacts* facts, std::string_view name,
                                       std::int64_t otherwise) {
  std::int64_t said = otherwise;
  if (facts != nullptr) {
    for (const auto& [key, number] : facts->numbers) {
      if (key == name) said = number;
    }
  }
  if (said < 0 || said >= UINT16_MAX) return std::nullopt;
  return static_cast<std::uint64_t>(said);
}

}  // namespace

NodeContext::NodeContext()
    : LabelSource({.number = LS_SOURCE_NODE,
                   .name = kSymbol,
                   .variable_symbol = kSymbol,
                   .needs_facts = true,
                   .facts_adapt_walk = true,
                   .id_bytes = otel::kIdBytes,
                   .ids = otel::kIds,
                   .waiting = "requests of node"}) {}

bool NodeContext::is_publisher_name(std::string_view) const { return false; }

void NodeContext::judge(std::string_view, FileInspection& file) const {
  judge_variable(file, kSymbol, sizeof(Entry),
                 "define it with the 32 bytes of the writer that npm has");
}

void NodeContext::adapt(const ProcessFacts* facts, ls_tls_recipe& recipe) const {
  const auto word = offset_of(facts, "tagged_size", kWord);
  const auto table = offset_of(facts, "js_map_table_offset", kTable);
  const auto header = offset_of(facts, "ordered_hash_map_header_size", kHeader);
  const auto direct = offset_of(facts, "js_object_record_offset", 0);
  const auto wrapped = offset_of(facts, "wrapped_object_offset", 0);
  const auto fields = offset_of(facts, "native_wrap_fields_offset", kFields);
  recipe.parameters[0] = 0;
  if (word != kWord || !table || !header || !direct || !wrapped || !fields) return;
  const bool two_steps = *direct == 0 && *wrapped != 0;
  const std::uint64_t first = two_steps ? *wrapped : *direct;
  recipe.parameters[0] = *table | *header << 16 | first << 32 | (two_steps ? *fields + 1 : 0) << 48;
}

RawReading NodeContext::take(const ThreadView& thread) const {
  const Found found = find_record(thread);
  if (found.outcome != LS_LABELLED) return {found.outcome, 0, {}};
  return otel::read_record(thread.memory, found.record).raw;
}

Observation NodeContext::decode(std::span<const std::byte> raw, std::uint8_t publisher,
                                const Meanings& by) const {
  return otel::decode(raw, publisher, by.facts);
}

ReadingStory NodeContext::explain(const ThreadView& thread) const {
  ReadingStory story;
  const Found found = find_record(thread);
  if (found.outcome != LS_LABELLED) {
    story.steps.push_back(found.why);
    if (!is_unreadable(found.outcome)) return story;
    const bool lost = found.outcome == LS_UNREADABLE_NOT_RESIDENT;
    const bool torn = found.outcome == LS_UNREADABLE_TORN;
    const bool unknown = found.outcome == LS_UNREADABLE_NO_KEYS;
    story.findings.push_back({lost      ? FindingCode::kBadPointer
                              : torn    ? FindingCode::kTornRecord
                              : unknown ? FindingCode::kKeyMapMissing
                                        : FindingCode::kMalformedSet,
                              found.why,
                              unknown
                                  ? "publish the process context that the writer asks for"
                                  : "look again; if it stays so, node's objects are laid out in "
                                    "another way than the writer says"});
  } else {
    const auto seen = otel::read_record(thread.memory, found.record);
    if (!otel::explain_record(seen, thread.facts(), story)) return story;
  }
  story.add_outcome(read(thread));
  return story;
}

}  // namespace labelscope
