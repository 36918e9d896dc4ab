// Tests the data rules one at a time, and sets that contradict themselves.
#include "sources/check_set.h"

#include <algorithm>

#include "labelscope/registers.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "support/fake_target.h"
#include "unit/reader/label_memory.h"

namespace labelscope::test {
namespace {

using State = CheckedSet::State;

SetCheck check(const LabelMemory& made) {
  return check_label_set(made.memory, LabelMemory::kVariable);
}

std::vector<RuleId> broken(const SetCheck& check) {
  std::vector<RuleId> rules;
  for (const Diagnostic& diagnostic : check.diagnostics) rules.push_back(diagnostic.rule);
  return rules;
}

std::vector<RuleId> only(RuleId rule) { return {rule}; }

// Nothing is mapped here.
constexpr Address kNowhere = 0x660000000000;
constexpr Address kPage = FakeMemory::kPage;

class TwoMappings final : public FakeTarget {
 public:
  explicit TwoMappings(std::vector<Mapping> mappings) : mappings_(std::move(mappings)) {}
  Result<std::vector<Mapping>> mappings() const override { return mappings_; }

 private:
  std::vector<Mapping> mappings_;
};

// The memory of a process that ends while it is read.
class EndingMemory final : public MemorySource {
 public:
  EndingMemory(const FakeMemory& memory, std::size_t reads) : memory_(memory), left_(reads) {}
  Status read(Address address, std::span<std::byte> out) const override {
    if (left_ == 0) return Error{ErrorCode::kVanished, "it has ended"};
    --left_;
    return memory_.read(address, out);
  }

 private:
  const FakeMemory& memory_;
  mutable std::size_t left_;
};

}  // namespace

TEST_CASE("check_set: a label set that is right breaks no rule, and comes sorted by key") {
  LabelMemory made;
  made.publish({{"tenant", "42"}, {"http.route", "/pay"}});
  const SetCheck seen = check(made);
  CHECK(broken(seen).empty());
  CHECK(seen.set.state == State::kSet);
  CHECK(pairs_of(seen.set.labels) == Pairs{{"http.route", "/pay"}, {"tenant", "42"}});
}

TEST_CASE("check_set: null, a count of 0 and a set without a valid label are the same") {
  LabelMemory null;
  null.memory.put<Address>(LabelMemory::kVariable, 0);
  LabelMemory empty;
  empty.publish(std::vector<RawLabel>{});
  LabelMemory no_storage;
  no_storage.publish(std::vector<RawLabel>{});
  no_storage.memory.put(LabelMemory::kSet, RawSet{0, 0, 8});
  LabelMemory removed;
  removed.publish({RawLabel{{0, 0}, removed.text("42")}});
  for (const LabelMemory* made : {&null, &empty, &no_storage, &removed}) {
    const SetCheck seen = check(*made);
    CHECK(seen.set == CheckedSet{});
  }
  CHECK(broken(check(null)).empty());
  CHECK(broken(check(empty)).empty());
  CHECK(broken(check(no_storage)).empty());
}

TEST_CASE("check_set: the order of elements and what is shadowed make no other set") {
  LabelMemory one;
  one.publish({{"a", "1"}, {"b", "2"}});
  LabelMemory other;
  other.publish({other.label("b", "2"), RawLabel{}, other.label("a", "1"), other.label("b", "9")});
  CHECK(check(one).set == check(other).set);
  LabelMemory different;
  different.publish({{"a", "1"}, {"b", "3"}});
  CHECK_FALSE(check(one).set == check(different).set);
}

TEST_CASE("check_set: LS040, a pointer to memory that is not there") {
  LabelMemory made;
  made.memory.put<Address>(LabelMemory::kVariable, kNowhere);
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kSetReadable));
  CHECK(seen.set.state == State::kUnreadable);
  made.memory.put<Address>(LabelMemory::kVariable, UINT64_MAX - 7);
  CHECK(broken(check(made)) == only(abi_v1::kSetReadable));
  CHECK(broken(check_label_set(made.memory, kNowhere)) == only(abi_v1::kSetReadable));
}

TEST_CASE("check_set: LS040, a set of which a part lies beyond the end of its page") {
  LabelMemory made;
  const Address set = LabelMemory::kSet - LabelMemory::kSet % kPage + kPage - 16;
  made.memory.put<Address>(LabelMemory::kVariable, set);
  made.memory.map(set, 16);
  CHECK(broken(check(made)) == only(abi_v1::kSetReadable));
}

TEST_CASE("check_set: LS041, a null storage with a count, or one that is not there") {
  LabelMemory made;
  made.publish({{"a", "1"}});
  made.memory.put(LabelMemory::kSet, RawSet{0, 1, 1});
  CHECK(broken(check(made)) == only(abi_v1::kStorageReadable));
  made.memory.put(LabelMemory::kSet, RawSet{kNowhere, 1, 1});
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kStorageReadable));
  CHECK(seen.set.state == State::kUnreadable);
}

TEST_CASE("check_set: LS041, a count beyond the end of the storage's memory") {
  LabelMemory made;
  const std::size_t fit = kPage / sizeof(RawLabel);
  made.publish({made.label("a", "1")}, fit);
  CHECK(check(made).set.state == State::kSet);  // all of the page is there
  made.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage, fit + 1, fit + 1});
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kStorageReadable));
  CHECK(seen.diagnostics.front().text.find(std::to_string(fit) + " elements") != std::string::npos);
}

TEST_CASE("check_set: LS041, counts that no memory holds") {
  LabelMemory made;
  for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 52,
                                    std::uint64_t{1} << 59, std::uint64_t{1} << 60, UINT64_MAX}) {
    made.publish({made.label("a", "1")}, count);
    made.memory.count_from_zero();
    CHECK(broken(check(made)) == only(abi_v1::kStorageReadable));
    CHECK(made.memory.reads() < 3 * kMaxCheckedElements);
  }
}

TEST_CASE("check_set: LS042 and LS043, strings that are not there") {
  LabelMemory key;
  key.publish({key.label("a", "1"), RawLabel{{3, kNowhere}, key.text("2")}});
  CHECK(broken(check(key)) == only(abi_v1::kKeyReadable));
  CHECK(check(key).set.state == State::kUnreadable);
  LabelMemory value;
  value.publish({value.label("a", "1"), RawLabel{value.text("b"), {3, kNowhere}}});
  CHECK(broken(check(value)) == only(abi_v1::kValueReadable));
  CHECK(check(value).diagnostics.front().text.find("\"b\"") != std::string::npos);
}

TEST_CASE("check_set: LS043, a length beyond the end of memory or of the address space") {
  LabelMemory made;
  const RawString start = made.text("x");
  for (const std::uint64_t length :
       {std::uint64_t{kPage} + 1, std::uint64_t{kMaxCheckedBytes} + 1, std::uint64_t{1} << 40,
        std::uint64_t{1} << 57, UINT64_MAX - start.address, UINT64_MAX}) {
    made.publish({RawLabel{made.text("a"), {length, start.address}}});
    CHECK(broken(check(made)) == only(abi_v1::kValueReadable));
  }
}

TEST_CASE("check_set: LS044, a null value, which takes its key all the same") {
  LabelMemory made;
  made.publish({RawLabel{made.text("a"), {1, 0}}, made.label("b", "2")});
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kValueNotNull));
  CHECK(pairs_of(seen.set.labels) == Pairs{{"b", "2"}});
  made.publish({RawLabel{made.text("a"), {1, 0}}, made.label("a", "1")});
  CHECK(broken(check(made)) == std::vector{abi_v1::kValueNotNull, abi_v1::kKeysUnique});
  CHECK(check(made).set.labels.empty());
}

TEST_CASE("check_set: LS045, the first of two equal keys counts") {
  LabelMemory made;
  made.publish({{"a", "1"}, {"a", "2"}, {"b", "3"}, {"a", "4"}});
  const SetCheck seen = check(made);
  REQUIRE(broken(seen) == only(abi_v1::kKeysUnique));
  CHECK(seen.diagnostics.front().count == 2);
  CHECK(pairs_of(seen.set.labels) == Pairs{{"a", "1"}, {"b", "3"}});
}

TEST_CASE("check_set: LS046, an element without a key, whatever else is in it") {
  LabelMemory made;
  made.publish({RawLabel{{5, 0}, {7, kNowhere}}, made.label("a", "1"), RawLabel{}});
  const SetCheck seen = check(made);
  REQUIRE(broken(seen) == only(abi_v1::kKeyNotNull));
  CHECK(seen.diagnostics.front().count == 2);
  CHECK(pairs_of(seen.set.labels) == Pairs{{"a", "1"}});
}

TEST_CASE("check_set: LS040, a set in a function that has returned") {
  LabelMemory made;
  made.publish({{"a", "1"}});
  const auto at = [&](Address stack_pointer) {
    return broken(check_label_set(made.memory, LabelMemory::kVariable,
                                  {stack_pointer, [] { return LabelMemory::kSet - 0x800; }}));
  };
  CHECK(at(LabelMemory::kSet + 0x400) == only(abi_v1::kSetReadable));
  CHECK(at(LabelMemory::kSet + kPage) == only(abi_v1::kSetReadable));
  // In the red zone of a leaf, in the stack that is used, far away, or not known.
  for (const Address stack_pointer : {LabelMemory::kSet + 128, LabelMemory::kSet - 0x400,
                                      LabelMemory::kSet + 0x100000, Address{0}, Address{8}}) {
    CHECK(at(stack_pointer).empty());
  }
  CHECK(check(made).set.state == State::kSet);
}

TEST_CASE(
    "check_set: LS040 is about stacks that the kernel or a libc has made, and no other memory") {
  LabelMemory made;
  made.publish({{"a", "1"}});
  const Address start = LabelMemory::kSet & ~(kPage - 1);
  const Address pointer = start + kPage;
  const auto with = [&](const std::string& name, bool guarded, Address thread_pointer) {
    Mapping below;
    below.start = start - kPage;
    below.end = start;
    below.readable = !guarded;
    Mapping stack;
    stack.start = start;
    stack.end = start + 4 * kPage;
    stack.readable = true;
    stack.path = name;
    const TwoMappings target({below, stack});
    Registers registers;
    registers.machine = Machine::kX86_64;
    registers.dwarf[7] = pointer;
    const ThreadState state{.thread_pointer = thread_pointer, .registers = &registers};
    return broken(CustomLabels().check({.memory = made.memory,
                                        .variable = LabelMemory::kVariable,
                                        .thread = &state,
                                        .process = &target}));
  };
  const Address above = start + 3 * kPage;
  CHECK(with("[stack]", false, 0x1000) == only(abi_v1::kSetReadable));
  CHECK(with("", true, above) == only(abi_v1::kSetReadable));
  // A coroutine's stack in the heap, and one with a guard that is no thread's own.
  CHECK(with("[heap]", false, 0x1000).empty());
  CHECK(with("", false, above).empty());
  CHECK(with("", true, 0x1000).empty());
  CHECK(with("", true, start + 64).empty());
}

TEST_CASE("check_set: LS042, a key whose pointer and length are the wrong way round") {
  LabelMemory made;
  RawLabel label = made.label("tenant", "42");
  std::swap(label.key.length, label.key.address);
  made.publish({label});
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kKeyReadable));
  CHECK(seen.diagnostics.front().text.find("the wrong way round") != std::string::npos);
}

TEST_CASE("check_set: LS049, texts with the NUL of a C string in them") {
  LabelMemory made;
  made.publish(
      {made.label("tenant", std::string("42\0", 3)), made.label(std::string("a\0", 2), "")});
  const SetCheck seen = check(made);
  REQUIRE(broken(seen) == only(abi_v1::kTextWithNul));
  CHECK(seen.diagnostics.front().count == 2);
  CHECK(seen.set.state == State::kSet);
  // Bytes that are a number may end so, but one zero byte is all that many a flag is.
  LabelMemory zero;
  zero.publish({zero.label("flag", std::string("\0", 1)), zero.label("b", std::string("a\0b", 3))});
  CHECK(broken(check(zero)).empty());
}

TEST_CASE("check_set: LS051, fewer places than labels") {
  LabelMemory made;
  made.publish({{"a", "1"}, {"b", "2"}});
  made.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage, 2, 1});
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kCapacityHoldsCount));
  CHECK(seen.set.state == State::kSet);
}

TEST_CASE("check_set: LS047, a set or a storage at an odd address") {
  LabelMemory made;
  made.publish({{"a", "1"}});
  const Address odd_set = LabelMemory::kSet + 0x102;
  made.memory.put(odd_set, RawSet{LabelMemory::kStorage, 1, 1});
  made.memory.put(LabelMemory::kVariable, odd_set);
  const SetCheck seen = check(made);
  CHECK(broken(seen) == only(abi_v1::kDataAligned));
  CHECK(pairs_of(seen.set.labels) == Pairs{{"a", "1"}});

  const Address odd_storage = LabelMemory::kStorage + 0x404;
  made.memory.put(odd_storage, made.label("b", "2"));
  made.memory.put(LabelMemory::kSet, RawSet{odd_storage, 1, 1});
  made.memory.put(LabelMemory::kVariable, LabelMemory::kSet);
  CHECK(broken(check(made)) == only(abi_v1::kDataAligned));
  made.memory.put(odd_set, RawSet{odd_storage, 1, 1});
  made.memory.put(LabelMemory::kVariable, odd_set);
  CHECK(check(made).diagnostics.front().count == 2);
}

TEST_CASE("check_set: LS048, what labelscope's own readers would leave out") {
  const auto many = [](LabelMemory& made, std::size_t count, const std::string& value) {
    std::vector<RawLabel> labels;
    for (std::size_t i = 0; i < count; ++i) {
      labels.push_back(made.label("key" + std::to_string(i), value));
    }
    made.publish(labels);
  };
  LabelMemory allowed;
  many(allowed, LS_MAX_LABELS, "value");
  CHECK(broken(check(allowed)).empty());
  LabelMemory labels;
  many(labels, LS_MAX_LABELS + 1, "value");
  CHECK(broken(check(labels)) == only(abi_v1::kReaderLimits));
  CHECK(check(labels).set.labels.size() == LS_MAX_LABELS + 1);
  LabelMemory bytes;
  many(bytes, 1, std::string(LS_MAX_LABEL_BYTES - 4, 'x'));
  CHECK(broken(check(bytes)).empty());
  many(bytes, 1, std::string(LS_MAX_LABEL_BYTES - 3, 'x'));
  CHECK(broken(check(bytes)) == only(abi_v1::kReaderLimits));
}

TEST_CASE("check_set: what lies beyond the bounds is LS048 and not read") {
  LabelMemory storage;
  const RawLabel one = storage.label("a", "1");
  storage.publish({one});
  const std::size_t count = 3 * kMaxCheckedElements;
  storage.memory.map(LabelMemory::kStorage, count * sizeof(RawLabel));
  storage.memory.put(LabelMemory::kSet, RawSet{LabelMemory::kStorage, count, count});
  const SetCheck long_one = check(storage);
  CHECK(broken(long_one) == std::vector{abi_v1::kKeyNotNull, abi_v1::kReaderLimits});
  CHECK(long_one.diagnostics.front().count == kMaxCheckedElements - 1);

  LabelMemory strings;
  const Address big = 0x770000000000;
  strings.memory.map(big, 2 * kMaxCheckedBytes);
  strings.publish({RawLabel{strings.text("a"), {2 * kMaxCheckedBytes, big}}});
  const SetCheck seen = check(strings);
  CHECK(broken(seen) == only(abi_v1::kReaderLimits));
  for (const SetCheck::Range& range : seen.ranges) {
    CHECK((range.start < big || range.start >= big + 2 * kMaxCheckedBytes));
  }
}

TEST_CASE("check_set: LS041, a storage whose end is not there, beyond what is looked at") {
  LabelMemory made;
  const std::size_t count = 2 * kMaxCheckedElements;
  made.publish({made.label("a", "1")}, count);
  made.memory.map(LabelMemory::kStorage, count * sizeof(RawLabel));
  made.memory.unmap_page(LabelMemory::kStorage + count * sizeof(RawLabel) - 1);
  CHECK(broken(check(made)) == only(abi_v1::kStorageReadable));
}

TEST_CASE("check_set: strings that overlap, and one that ends with the page") {
  LabelMemory made;
  const RawString text = made.text("abcdef");
  const Address end = LabelMemory::kStrings - LabelMemory::kStrings % kPage + kPage;
  made.memory.put_text(end - 2, "zz");
  made.publish({RawLabel{{3, text.address}, {4, text.address + 1}},
                RawLabel{{2, text.address}, {2, end - 2}}});
  const SetCheck seen = check(made);
  CHECK(broken(seen).empty());
  CHECK(pairs_of(seen.set.labels) == Pairs{{"ab", "zz"}, {"abc", "bcde"}});
}

TEST_CASE("check_set: an empty string needs no memory, only an address") {
  LabelMemory made;
  made.publish({RawLabel{{0, kNowhere}, {0, 1}}});
  CHECK(broken(check(made)).empty());
  CHECK(pairs_of(check(made).set.labels) == Pairs{{"", ""}});
  made.memory.set_machine(Machine::kX86_64);  // elsewhere the top byte is no part of the address
  made.publish({RawLabel{made.text("a"), {0, UINT64_MAX}}});
  CHECK(broken(check(made)) == only(abi_v1::kValueReadable));
}

TEST_CASE("check_set: ranges are what was read, the variable first") {
  LabelMemory made(/*gap=*/32);
  made.publish({{"key", "value"}});
  const SetCheck seen = check(made);
  REQUIRE(seen.ranges.size() == 5);
  CHECK(seen.ranges[0].start == LabelMemory::kVariable);
  CHECK(seen.ranges[0].size == 8);
  const auto covers = [&](Address start, std::size_t size) {
    return std::any_of(seen.ranges.begin(), seen.ranges.end(), [&](const SetCheck::Range& range) {
      return range.start <= start && start + size <= range.start + range.size;
    });
  };
  CHECK(covers(LabelMemory::kSet, sizeof(RawSet)));
  CHECK(covers(LabelMemory::kStorage, sizeof(RawLabel)));
  CHECK(covers(LabelMemory::kStrings, 3));
  CHECK(covers(LabelMemory::kStrings + 3 + 32, 5));
}

TEST_CASE("check_set: a process that ends breaks no rule, wherever it ends") {
  LabelMemory made;
  made.publish({made.label("a", "1"), RawLabel{made.text("b"), {1, 0}}});
  bool whole = false;
  for (std::size_t reads = 0; !whole; ++reads) {
    REQUIRE(reads < 100);
    const SetCheck seen = check_label_set(EndingMemory(made.memory, reads), LabelMemory::kVariable);
    whole = broken(seen) == only(abi_v1::kValueNotNull);
    if (whole) continue;
    CHECK(broken(seen).empty());
    CHECK(seen.set.state == State::kUnreadable);
  }
}

TEST_CASE("check_set: the target's processor decides what of a pointer is its address") {
  LabelMemory made;
  const RawLabel plain = made.label("a", "1");
  made.publish({RawLabel{{1, plain.key.address | Address{0x80} << 56}, plain.value}});
  made.memory.set_machine(Machine::kAarch64);
  CHECK(broken(check(made)).empty());
  made.memory.set_machine(Machine::kX86_64);
  CHECK(broken(check(made)) == only(abi_v1::kKeyReadable));
}

}  // namespace labelscope::test
