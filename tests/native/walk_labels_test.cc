// labelscope/bpf/custom_labels.bpf.h: the rules of ABI v1, and the bounds.
#include <algorithm>

#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

std::string numbered(char first, int number, std::size_t size) {
  std::string text = first + std::to_string(number);
  text.resize(size, '.');
  return text;
}

struct Many : LabelMemory {
  Many(int count, std::size_t key, std::size_t value, Layout layout) : LabelMemory(layout) {
    for (int i = 0; i < count; ++i) add(numbered('k', i, key), numbered('v', i, value));
    publish();
  }
};

void require_whole(const Observation& seen, int count, std::size_t key, std::size_t value) {
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels.size() == static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    REQUIRE(seen.labels[static_cast<std::size_t>(i)].key == numbered('k', i, key));
    REQUIRE(seen.labels[static_cast<std::size_t>(i)].value == numbered('v', i, value));
  }
}

Observation observe(const LabelMemory& made) {
  return NativeReader(made.memory).observe_variable(kVariable);
}

}  // namespace

TEST_CASE("walk_labels: ten labels of 128 and 256 bytes arrive whole") {
  for (Layout layout : {Layout::kPacked, Layout::kScattered}) {
    Observation seen = observe(Many(10, 128, 256, layout));
    require_whole(seen, 10, 128, 256);
    REQUIRE(seen.flags == 0);
  }
}

TEST_CASE("walk_labels: sixty-four labels of 8 and 8 bytes arrive whole") {
  for (Layout layout : {Layout::kPacked, Layout::kScattered}) {
    Observation seen = observe(Many(64, 8, 8, layout));
    require_whole(seen, 64, 8, 8);
    REQUIRE(seen.flags == 0);
  }
}

TEST_CASE("walk_labels: of more than sixty-four labels the first stay, flagged") {
  Observation seen = observe(Many(65, 8, 8, Layout::kPacked));
  require_whole(seen, 64, 8, 8);
  REQUIRE(seen.flags == LS_TRUNCATED_LABELS);
}

TEST_CASE("walk_labels: of more than 128 elements the first are looked at, flagged") {
  LabelMemory made;
  made.slots.resize(120);  // without keys
  for (int i = 0; i < 10; ++i) made.add(numbered('k', i, 4), numbered('v', i, 4));
  made.publish();
  Observation seen = observe(made);
  require_whole(seen, 8, 4, 4);
  REQUIRE(seen.flags == LS_TRUNCATED_SLOTS);
}

TEST_CASE("walk_labels: an absurd count is bounded before it is used") {
  Many made(1, 4, 4, Layout::kPacked);
  made.memory.map(kStorage, LS_MAX_SLOTS * sizeof(RemoteSlot));
  for (std::uint64_t count : {~0ULL, 1ULL << 59, (1ULL << 59) + 1, 1ULL << 32}) {
    made.publish_set(kStorage, count);
    Observation seen = observe(made);
    require_whole(seen, 1, 4, 4);
    REQUIRE(seen.flags == LS_TRUNCATED_SLOTS);
  }
}

TEST_CASE(
    "walk_labels: labels up to the limit of bytes stay, one that does not fit is left out whole") {
  LabelMemory made;
  made.add("a", std::string(4000, 'x')).add("b", std::string(94, 'y'));
  made.publish();
  Observation seen = observe(made);  // 4096 bytes
  REQUIRE(seen.labels.size() == 2);
  REQUIRE(seen.labels[0].value == std::string(4000, 'x'));
  REQUIRE(seen.flags == 0);

  made.add("c", "").publish();
  seen = observe(made);  // 4097 bytes
  REQUIRE(seen.labels.size() == 2);
  REQUIRE(seen.flags == LS_TRUNCATED_BYTES);
}

TEST_CASE("walk_labels: a value too long for any record does not hide the labels behind it") {
  LabelMemory made;
  made.add("huge", std::string(5000, 'x')).add("tenant", "42").publish();
  Observation seen = observe(made);
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels == LabelSet{{"tenant", "42", 0}});
  REQUIRE(seen.flags == LS_TRUNCATED_BYTES);
}

TEST_CASE("walk_labels: no pointer, no elements and no keys are unlabelled") {
  Many made(2, 4, 4, Layout::kPacked);
  SECTION("null pointer") { made.memory.put(kVariable, Address{0}); }
  SECTION("count 0") { made.publish_set(kStorage, 0); }
  SECTION("count 0 and no storage") { made.publish_set(0, 0); }
  SECTION("only elements without a key") {
    for (RemoteSlot& slot : made.slots) slot.key = {};
    made.publish();
  }
  Observation seen = observe(made);
  REQUIRE(seen.outcome == LS_UNLABELLED);
  REQUIRE(seen.labels.empty());
  REQUIRE(seen.flags == 0);
}

TEST_CASE("walk_labels: elements without a key are skipped and do not count as labels") {
  LabelMemory made;
  for (int i = 0; i < 64; ++i) {
    made.slots.push_back({{}, {5, 0xdead}});
    made.add(numbered('k', i, 6), numbered('v', i, 6));
  }
  made.publish();
  Observation seen = observe(made);
  require_whole(seen, 64, 6, 6);
  REQUIRE(seen.flags == 0);
}

TEST_CASE("walk_labels: a key without a value is left out and flagged") {
  LabelMemory made;
  made.add("a", "1").add("b", "2").add("c", "3");
  made.slots[1].value.address = 0;
  made.publish();
  Observation seen = observe(made);
  REQUIRE(seen.labels == LabelSet{{"a", "1", 0}, {"c", "3", 0}});
  REQUIRE(seen.flags == LS_NULL_VALUE);
}

TEST_CASE("walk_labels: the first of equal keys counts") {
  LabelMemory made;
  made.add("a", "1").add("b", "2").add("a", "3").publish();
  Observation seen = observe(made);
  REQUIRE(seen.labels == LabelSet{{"a", "1", 0}, {"b", "2", 0}});
  REQUIRE(seen.flags == LS_DUPLICATE_KEY);
}

TEST_CASE("walk_labels: empty strings are strings, wherever they point") {
  for (Layout layout : {Layout::kPacked, Layout::kScattered}) {
    LabelMemory made(layout);
    made.add("a", "").add("", "2").add("c", "3");
    made.slots[0].value.address = 1;  // dangling, as some languages use it for nothing
    made.publish();
    Observation seen = observe(made);
    REQUIRE(seen.outcome == LS_LABELLED);
    REQUIRE(seen.labels == LabelSet{{"a", "", 0}, {"", "2", 0}, {"c", "3", 0}});
    REQUIRE(seen.flags == 0);
  }
}

TEST_CASE("walk_labels: a label of nothing at all is a label") {
  LabelMemory made;
  made.slots.push_back({{0, 1}, {0, 1}});
  made.publish();
  Observation seen = observe(made);
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels == LabelSet{{"", "", 0}});
}

TEST_CASE(
    "walk_labels: one page that is missing makes the set unreadable, with no half of it shown") {
  Many made(3, 8, 8, Layout::kScattered);
  Address hole = 0;
  SECTION("variable") { hole = kVariable; }
  SECTION("set") { hole = kSet; }
  SECTION("elements") { hole = kStorage; }
  SECTION("first key") { hole = made.slots[0].key.address; }
  SECTION("last value") { hole = made.slots[2].value.address; }
  made.memory.unmap_page(hole);
  NativeReader reader(made.memory);
  Observation seen = reader.observe_variable(kVariable);
  REQUIRE(seen.outcome == LS_UNREADABLE_NOT_RESIDENT);
  REQUIRE(seen.labels.empty());
  // The retry makes this page present.
  REQUIRE(reader.fault_size() > 0);
  REQUIRE(reader.fault_address() <= hole);
  REQUIRE(reader.fault_address() + reader.fault_size() > hole);
}

TEST_CASE("walk_labels: a null storage with a count is malformed") {
  Many made(2, 4, 4, Layout::kPacked);
  made.publish_set(0, 2);
  REQUIRE(observe(made).outcome == LS_UNREADABLE_MALFORMED);
}

TEST_CASE("walk_labels: impossible lengths and pointers are malformed, and nothing is read there") {
  Many made(3, 4, 4, Layout::kPacked);
  SECTION("key length") { made.slots[1].key.length = 1ULL << 57; }
  SECTION("value length") { made.slots[1].value.length = ~0ULL; }
  SECTION("two lengths that wrap around together") {
    made.slots[1].key.length = 1ULL << 63;
    made.slots[1].value.length = 1ULL << 63;
  }
#ifndef __aarch64__
  // On aarch64 the program may use the top byte for itself, and the rest of these pointers only
  // leads nowhere.
  SECTION("value pointer of the kernel") { made.slots[1].value.address = 0xffff'8000'0000'0000; }
  SECTION("a string across the end") { made.slots[1].key.address = (1ULL << 57) - 2; }
#endif
  made.publish();
  Observation seen = observe(made);
  REQUIRE(seen.outcome == LS_UNREADABLE_MALFORMED);
  REQUIRE(seen.labels.empty());
}

TEST_CASE("walk_labels: strings that lie together take one read, however many they are") {
  Many made(10, 12, 20, Layout::kPacked);
  made.memory.count_from_zero();
  observe(made);
  REQUIRE(made.memory.reads() == 4);  // the pointer, the set, the elements, the strings
}

TEST_CASE("walk_labels: strings that lie apart take one read each") {
  Many made(10, 12, 20, Layout::kScattered);
  made.memory.count_from_zero();
  observe(made);
  REQUIRE(made.memory.reads() == 3 + 20);
}

TEST_CASE("walk_labels: what lies between the strings is not part of the labels") {
  LabelMemory made;
  made.add("k", "v");
  made.string("SECRET");
  made.add("l", "w");
  made.publish();
  NativeReader reader(made.memory);
  Observation seen = reader.observe_variable(kVariable);
  REQUIRE(seen.labels == LabelSet{{"k", "v", 0}, {"l", "w", 0}});
  std::string_view secret = "SECRET";
  const auto& key = reader.label_bytes();
  auto bytes = std::as_bytes(std::span(secret));
  REQUIRE(std::search(key.begin(), key.end(), bytes.begin(), bytes.end()) == key.end());
}

TEST_CASE("walk_labels: nothing of an earlier sample is in a record") {
  LabelMemory made;
  made.add("k", "abc").add("l", "").publish();
  native_soil(0x5a);
  NativeReader reader(made.memory);
  reader.observe_variable(kVariable);
  REQUIRE(std::count(reader.record().begin(), reader.record().end(), std::byte{0x5a}) == 0);
}

TEST_CASE("walk_labels: equal labels have equal keys wherever they lie") {
  Many packed(5, 7, 9, Layout::kPacked);
  Many scattered(5, 7, 9, Layout::kScattered);
  NativeReader first(packed.memory);
  first.observe_variable(kVariable);
  NativeReader second(scattered.memory);
  second.observe_variable(kVariable);
  REQUIRE(first.label_bytes() == second.label_bytes());
}

TEST_CASE(
    "walk_labels: an empty string far away does not keep the others from being read at once") {
  LabelMemory made;
  made.add("a", "").add("b", "2");
  made.slots[0].value.address = 1;
  made.publish();
  made.memory.count_from_zero();
  observe(made);
  REQUIRE(made.memory.reads() == 4);
}

TEST_CASE("walk_labels: strings of one page with much between them are not sent with all of that") {
  LabelMemory made;
  made.add("a", "1");
  made.string(std::string(3000, 'x'));
  made.add("b", "2").publish();
  NativeReader reader(made.memory);
  REQUIRE(reader.observe_variable(kVariable).labels.size() == 2);
  REQUIRE(reader.record().size() < 200);
}

TEST_CASE("walk_labels: a read that failed for an earlier sample is forgotten") {
  LabelMemory made;
  made.add("a", "1").publish();
  FakeMemory nothing;
  NativeReader broken(nothing);
  broken.observe_variable(kVariable);
  REQUIRE(broken.fault_size() > 0);
  NativeReader reader(made.memory);
  reader.observe_variable(kVariable);
  REQUIRE(reader.fault_size() == 0);
}

namespace {

// Moves a set of `count` labels to `set` and its elements to `elements`. Returns the number of
// reads of one walk, which finds all labels.
std::size_t reads_for(int count, Address set, Address elements) {
  Many made(count, 7, 9, Layout::kPacked);
  for (std::size_t i = 0; i < made.slots.size(); ++i) {
    made.memory.put(elements + i * sizeof(RemoteSlot), made.slots[i]);
  }
  made.memory.put(set, elements);
  made.memory.put(set + 8, made.slots.size());
  made.memory.put(kVariable, set);
  made.memory.unmap_page(kSet);
  made.memory.unmap_page(kStorage);
  made.memory.count_from_zero();
  require_whole(observe(made), count, 7, 9);
  return made.memory.reads();
}

constexpr Address kOneBlock = 0x50'0000;

}  // namespace

TEST_CASE("walk_labels: elements right behind their set are read with it") {
  REQUIRE(reads_for(10, kOneBlock, kOneBlock + 24) == 3);
  // There are more elements than are read ahead.
  REQUIRE(reads_for(11, kOneBlock, kOneBlock + 24) == 4);
}

TEST_CASE("walk_labels: a page that the set does not touch is not read with it") {
  const Address last = kOneBlock + FakeMemory::kPage - 24;
  REQUIRE(reads_for(3, last, 0x60'0000) == 4);
  REQUIRE(reads_for(3, last - 64, last - 64 + 24) == 4);
}

TEST_CASE("walk_labels: a set across two pages is read whole") {
  REQUIRE(reads_for(3, kOneBlock + FakeMemory::kPage - 12, 0x60'0000) == 4);
}
