// Tests the rules of label_walk.h, one test each.
#include "sources/custom_labels/label_walk.h"

#include "support/catch.h"
#include "unit/reader/label_memory.h"

namespace labelscope::test {
namespace {

Observation walk(const LabelMemory& made) {
  return walk_label_set(made.memory, LabelMemory::kVariable);
}

void check_unreadable(const LabelMemory& made, ls_outcome outcome) {
  const Observation seen = walk(made);
  CHECK(outcome_name(seen.outcome) == outcome_name(outcome));
  CHECK(seen.labels.empty());
}

}  // namespace

TEST_CASE("label_walk: keys and values arrive as they are, in the order of the array") {
  LabelMemory made;
  made.publish({{"http.route", "/pay"}, {"tenant", "42"}});
  const Observation seen = walk_label_set(made.memory, LabelMemory::kVariable, 3);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.flags == 0);
  CHECK(pairs_of(seen.labels) == Pairs{{"http.route", "/pay"}, {"tenant", "42"}});
  CHECK(seen.labels[0].publisher == 3);
  CHECK(seen.labels[1].publisher == 3);
}

TEST_CASE("label_walk: labels are bytes, zeros and all") {
  LabelMemory made;
  const std::string bytes("\0\xff\n\0x", 5);
  made.publish({made.label(bytes, bytes)});
  CHECK(pairs_of(walk(made).labels) == Pairs{{bytes, bytes}});
}

TEST_CASE("label_walk: the target's processor decides what of a pointer is its address") {
  LabelMemory made;
  const auto tagged = [](RawString string, Address tag) {
    return RawString{string.length, string.address | tag << 56};
  };
  const RawString key = made.text("tenant");
  const RawString value = made.text("42");
  made.publish({{tagged(key, 0x80), tagged(value, 0x0b)}});
  made.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage | Address{0xff} << 56, 1, 1});
  made.memory.put(LabelMemory::kVariable, LabelMemory::kSet | Address{0x21} << 56);
  made.memory.set_machine(Machine::kAarch64);
  CHECK(pairs_of(walk(made).labels) == Pairs{{"tenant", "42"}});
  made.memory.set_machine(Machine::kX86_64);
  check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);

  made.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage, 1, 1});
  made.memory.put(LabelMemory::kVariable, LabelMemory::kSet);
  check_unreadable(made, LS_UNREADABLE_MALFORMED);  // no address on x86-64
}

TEST_CASE("label_walk: a null pointer is unlabelled, after one read") {
  LabelMemory made;
  made.memory.put(LabelMemory::kVariable, Address{0});
  CHECK(walk(made).outcome == LS_UNLABELLED);
  CHECK(made.memory.reads() == 1);
}

TEST_CASE("label_walk: a set of no elements is unlabelled, wherever its storage points") {
  LabelMemory made;
  made.publish(std::vector<RawLabel>{});
  made.memory.put(LabelMemory::kSet, RawSet{0xdead0000, 0, 5});
  CHECK(walk(made).outcome == LS_UNLABELLED);
  made.memory.put(LabelMemory::kSet, RawSet{0, 0, 0});
  CHECK(walk(made).outcome == LS_UNLABELLED);
}

TEST_CASE("label_walk: elements without a storage are malformed") {
  LabelMemory made;
  made.publish({{"a", "b"}});
  made.memory.put(LabelMemory::kSet, RawSet{0, 1, 1});
  check_unreadable(made, LS_UNREADABLE_MALFORMED);
}

TEST_CASE("label_walk: the capacity means nothing") {
  LabelMemory made;
  made.publish({{"a", "b"}});
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    made.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage, 1, capacity});
    CHECK(pairs_of(walk(made).labels) == Pairs{{"a", "b"}});
  }
}

TEST_CASE("label_walk: an element without a key is skipped, whatever else it says") {
  LabelMemory made;
  const RawLabel first = made.label("a", "1");
  const RawLabel last = made.label("b", "2");
  made.publish({first, RawLabel{}, RawLabel{{UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}}, last});
  const Observation seen = walk(made);
  CHECK(pairs_of(seen.labels) == Pairs{{"a", "1"}, {"b", "2"}});
  CHECK(seen.flags == 0);
}

TEST_CASE("label_walk: only elements without a key is unlabelled") {
  LabelMemory made;
  made.publish(std::vector<RawLabel>(5));
  CHECK(walk(made).outcome == LS_UNLABELLED);
}

TEST_CASE("label_walk: a key without a value is left out and flagged") {
  LabelMemory made;
  RawLabel broken = made.label("broken", "");
  broken.value = {};
  made.publish({broken, made.label("whole", "yes")});
  const Observation seen = walk(made);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(seen.flags == LS_NULL_VALUE);
  CHECK(pairs_of(seen.labels) == Pairs{{"whole", "yes"}});
}

TEST_CASE("label_walk: an empty key or value is a string, and its address is not read") {
  LabelMemory made;
  RawLabel empty = made.label("empty", "");
  empty.value = {0, 0x1};
  RawLabel unnamed = made.label("", "value");
  unnamed.key = {0, 0x1234567};
  made.publish({empty, unnamed});
  const Observation seen = walk(made);
  CHECK(seen.outcome == LS_LABELLED);
  CHECK(pairs_of(seen.labels) == Pairs{{"empty", ""}, {"", "value"}});
}

TEST_CASE("label_walk: of equal keys the first counts, and the sample says so") {
  LabelMemory made;
  made.publish({{"k", "first"}, {"other", "x"}, {"k", "second"}, {"k", "first"}});
  const Observation seen = walk(made);
  CHECK(pairs_of(seen.labels) == Pairs{{"k", "first"}, {"other", "x"}});
  CHECK(seen.flags == LS_DUPLICATE_KEY);
}

TEST_CASE("label_walk: keys are equal only as a whole") {
  LabelMemory made;
  made.publish({{"k", "1"}, {"kk", "2"}, {"K", "3"}});
  CHECK(walk(made).labels.size() == 3);
  CHECK(walk(made).flags == 0);
}

TEST_CASE("label_walk: an unreadable byte anywhere makes the whole set unreadable") {
  for (const Address hole :
       {LabelMemory::kVariable, LabelMemory::kSet, LabelMemory::kStorage, LabelMemory::kStrings}) {
    LabelMemory made;
    made.publish({{"a", "1"}, {"b", "2"}});
    made.memory.unmap_page(hole);
    check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);
  }
}

TEST_CASE("label_walk: one string that is not resident leaves no half set") {
  LabelMemory made(/*gap=*/8192);
  made.publish({{"a", "1"}, {"b", "2"}});
  made.memory.unmap_page(LabelMemory::kStrings + 3 * Address{8193});
  check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("label_walk: a string that crosses into a hole is unreadable") {
  LabelMemory made;
  RawLabel label = made.label("k", "v");
  label.value = {100, LabelMemory::kStrings + FakeMemory::kPage - 99};
  made.publish({label});
  check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("label_walk: a string that leaves the address space is malformed") {
  constexpr std::uint64_t kEnd = 1ULL << 57;
  const RawString impossible[] = {
      {1, kEnd}, {UINT64_MAX, 0x1000}, {kEnd, 0x1000}, {2, kEnd - 1}, {UINT64_MAX, kEnd - 1},
  };
  for (const RawString& string : impossible) {
    INFO(string.length << " bytes at " << string.address);
    LabelMemory made;
    made.memory.set_machine(Machine::kX86_64);  // elsewhere the top byte is no part of the address
    RawLabel label = made.label("k", "v");
    label.value = string;
    made.publish({made.label("fine", "x"), label});
    check_unreadable(made, LS_UNREADABLE_MALFORMED);
    label = {string, made.text("v")};
    made.publish({made.label("fine", "x"), label});
    check_unreadable(made, LS_UNREADABLE_MALFORMED);
  }
}

TEST_CASE("label_walk: a string that ends with the address space is possible") {
  LabelMemory made;
  RawLabel label = made.label("k", "v");
  label.value = {1, (1ULL << 57) - 1};
  made.publish({label});
  check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("label_walk: 64 labels are whole, the 65th is cut off and flagged") {
  LabelMemory made;
  std::vector<RawLabel> labels;
  labels.reserve(LS_MAX_LABELS);
  for (int i = 0; i < LS_MAX_LABELS; ++i) {
    labels.push_back(made.label("key" + std::to_string(i), "value" + std::to_string(i)));
  }
  made.publish(labels);
  CHECK(walk(made).labels.size() == LS_MAX_LABELS);
  CHECK(walk(made).flags == 0);
  // Slots without a key are no labels.
  labels.resize(LS_MAX_SLOTS);
  made.publish(labels);
  CHECK(walk(made).flags == 0);
  labels.resize(LS_MAX_LABELS);
  labels.push_back(made.label("late", "x"));
  made.publish(labels);
  const Observation seen = walk(made);
  CHECK(seen.labels.size() == LS_MAX_LABELS);
  CHECK(seen.labels.back().key == "key63");
  CHECK(seen.flags == LS_TRUNCATED_LABELS);
}

TEST_CASE("label_walk: 128 slots are looked at, and a longer array says so") {
  LabelMemory made;
  std::vector<RawLabel> labels(LS_MAX_SLOTS - 1);
  labels.push_back(made.label("last", "seen"));
  made.publish(labels);
  CHECK(pairs_of(walk(made).labels) == Pairs{{"last", "seen"}});
  CHECK(walk(made).flags == 0);
  labels.push_back(made.label("beyond", "unseen"));
  made.publish(labels);
  const Observation seen = walk(made);
  CHECK(pairs_of(seen.labels) == Pairs{{"last", "seen"}});
  CHECK(seen.flags == LS_TRUNCATED_SLOTS);
}

TEST_CASE("label_walk: a count of 2^64 - 1 costs no more than 128 slots") {
  LabelMemory made;
  std::vector<RawLabel> labels(LS_MAX_SLOTS);
  labels[0] = made.label("a", "b");
  made.publish(labels, UINT64_MAX);
  const Observation seen = walk(made);
  CHECK(pairs_of(seen.labels) == Pairs{{"a", "b"}});
  CHECK(seen.flags == LS_TRUNCATED_SLOTS);
  made.memory.unmap_page(LabelMemory::kStorage);
  check_unreadable(made, LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("label_walk: 4096 bytes of keys and values fit, one more leaves its label out whole") {
  LabelMemory made;
  const RawLabel large = made.label("large", std::string(LS_MAX_LABEL_BYTES - 5 - 6, 'x'));
  made.publish({large, made.label("fit", "abc")});
  CHECK(walk(made).labels.size() == 2);
  CHECK(walk(made).flags == 0);
  made.publish({large, made.label("over", "abc"), made.label("fit", "abc")});
  const Observation seen = walk(made);
  REQUIRE(seen.labels.size() == 2);
  CHECK(seen.labels[0].value.size() == LS_MAX_LABEL_BYTES - 5 - 6);
  CHECK(seen.labels[1].key == "fit");
  CHECK(seen.flags == LS_TRUNCATED_BYTES);
}

TEST_CASE("label_walk: a label of 4096 bytes is whole and one of 4097 is none") {
  LabelMemory made;
  made.publish({made.label("", std::string(LS_MAX_LABEL_BYTES, 'v'))});
  CHECK(walk(made).labels.front().value == std::string(LS_MAX_LABEL_BYTES, 'v'));
  made.publish({made.label("k", std::string(LS_MAX_LABEL_BYTES, 'v'))});
  const Observation seen = walk(made);
  CHECK(seen.outcome == LS_UNLABELLED);
  CHECK(seen.flags == LS_TRUNCATED_BYTES);
}

TEST_CASE("label_walk: the labels that must always arrive whole do") {
  LabelMemory fixed;
  std::vector<RawLabel> ten;
  ten.reserve(10);
  for (int i = 0; i < 10; ++i) {
    ten.push_back(fixed.label(std::string(127, 'k') + std::to_string(i), std::string(256, 'v')));
  }
  fixed.publish(ten);
  CHECK(walk(fixed).labels.size() == 10);
  CHECK(walk(fixed).flags == 0);
  LabelMemory many;
  std::vector<RawLabel> short_ones;
  short_ones.reserve(64);
  for (int i = 0; i < 64; ++i) {
    short_ones.push_back(many.label("key-" + std::to_string(1000 + i), "12345678"));
  }
  many.publish(short_ones);
  CHECK(walk(many).labels.size() == 64);
  CHECK(walk(many).flags == 0);
}

TEST_CASE("label_walk: strings that lie close together are read at once") {
  LabelMemory made;
  made.publish({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  made.memory.count_from_zero();
  CHECK(walk(made).labels.size() == 4);
  // The four reads are of the pointer, the set, the array and the strings.
  CHECK(made.memory.reads() == 4);
}

TEST_CASE("label_walk: strings that lie far apart are read one by one, to the same effect") {
  LabelMemory made(/*gap=*/10000);
  made.publish({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  made.memory.count_from_zero();
  CHECK(pairs_of(walk(made).labels) == Pairs{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  CHECK(made.memory.reads() == 3 + 6);
}

TEST_CASE("label_walk: a hole between strings that lie close together does not matter") {
  LabelMemory made;
  const Address low = LabelMemory::kStrings + 2 * FakeMemory::kPage - 1500;
  const Address high = LabelMemory::kStrings + 3 * FakeMemory::kPage + 10;
  const std::string key(1450, 'k');
  const std::string value(2500, 'v');
  made.memory.put_text(low, key);
  made.memory.put_text(high, value);
  made.publish({RawLabel{{key.size(), low}, {value.size(), high}}});
  CHECK(pairs_of(walk(made).labels) == Pairs{{key, value}});
}

TEST_CASE("label_walk: strings that overlap are each read whole") {
  LabelMemory made;
  const RawString all = made.text("abcdef");
  made.publish({RawLabel{all, {3, all.address + 1}}, RawLabel{{1, all.address}, all}});
  CHECK(pairs_of(walk(made).labels) == Pairs{{"abcdef", "bcd"}, {"a", "abcdef"}});
}

}  // namespace labelscope::test
