// Tests the labels of goroutines: the reader's walk and the kernel side's, both on each memory.
#include <algorithm>
#include <random>
#include <vector>

#include "labelscope/observe.h"
#include "native/go_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr std::uint32_t kNumber = raw(GoMemory::kThread);

// Returns what both see, which must be the same.
Observation observe_both(const GoMemory& go, std::uint32_t number = kNumber, Address x28 = 0) {
  Registers registers;
  registers.machine = Machine::kAarch64;
  registers.dwarf[28] = x28;
  const Observation reader = observe(
      {&go.recipe, 1},
      {GoMemory::kThreadPointer, Tid{static_cast<std::int32_t>(number)}, &registers}, go.memory);
  const Observation kernel = NativeReader(go.memory).observe(
      {&go.recipe, 1}, GoMemory::kThreadPointer, {}, number, x28);
  CHECK(outcome_name(kernel.outcome) == outcome_name(reader.outcome));
  CHECK(kernel.flags == reader.flags);
  CHECK(kernel.labels == reader.labels);
  return reader;
}

GoMemory::Pairs pairs(std::size_t count) {
  GoMemory::Pairs made;
  for (std::size_t i = 0; i < count; ++i) {
    made.emplace_back("key" + std::to_string(i), "value" + std::to_string(i));
  }
  return made;
}

void expect_labels(const Observation& seen, GoMemory::Pairs wanted) {
  REQUIRE(seen.outcome == LS_LABELLED);
  GoMemory::Pairs got;
  for (const Label& label : seen.labels) got.emplace_back(label.key, label.value);
  std::ranges::sort(got);
  std::ranges::sort(wanted);
  CHECK(got == wanted);
}

void expect_no_goroutine(const Observation& seen) {
  CHECK(seen.outcome == LS_UNLABELLED);
  CHECK(seen.flags == LS_NO_GOROUTINE);
}

}  // namespace

TEST_CASE("go_labels: each version's layout and form") {
  for (unsigned minor = kOldestGo; minor <= kNewestGo; ++minor) {
    INFO("Go 1." << minor);
    GoMemory go(minor);
    CHECK(observe_both(go).outcome == LS_UNLABELLED);
    go.publish(pairs(3));
    expect_labels(observe_both(go), pairs(3));
  }
  CHECK_FALSE(go_layout(kOldestGo - 1));
  CHECK_FALSE(go_layout(kNewestGo + 1));
}

TEST_CASE("go_labels: any number of labels, as far as any source goes") {
  for (const unsigned minor : {19U, 24U}) {
    for (const std::size_t count : {1, 8, 9, 13, 14, 27, 53, 64}) {
      INFO("Go 1." << minor << ", " << count);
      expect_labels(observe_both(GoMemory(minor).publish(pairs(count))), pairs(count));
    }
    const Observation many = observe_both(GoMemory(minor).publish(pairs(100)));
    CHECK(many.labels.size() == LS_MAX_LABELS);
    CHECK(many.flags == LS_TRUNCATED_LABELS);
    const Observation more = observe_both(GoMemory(minor).publish(pairs(500)));
    CHECK(more.labels.size() == LS_MAX_LABELS);
    CHECK(more.flags == (LS_TRUNCATED_LABELS | LS_TRUNCATED_SLOTS));
  }
}

TEST_CASE("go_labels: empty strings are labels, bytes at no address are none") {
  for (const unsigned minor : {19U, 24U}) {
    INFO("Go 1." << minor);
    const GoMemory::Pairs empty{{"", "value"}, {"key", ""}};
    expect_labels(observe_both(GoMemory(minor).publish(empty)), empty);
    GoMemory go(minor);
    go.publish(pairs(1));
    go.memory.put(minor == 24 ? GoMemory::kPairs : GoMemory::kBuckets + 8, Address{0});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
}

TEST_CASE("go_labels: overflow buckets, and a map that stopped growing half way") {
  GoMemory chained(19);
  chained.set_labels(GoMemory::kLabels);
  chained.put_map(20, 0, 0, GoMemory::kBuckets, 0);
  chained.fill(GoMemory::kBuckets, 1, pairs(20));
  expect_labels(observe_both(chained), pairs(20));

  // One of two old buckets has moved, and only its mark is left; the other has not moved.
  for (const bool same_size : {false, true}) {
    GoMemory grown(19);
    grown.set_labels(GoMemory::kLabels);
    const GoMemory::Pairs all = pairs(9);
    grown.put_map(9, same_size ? 8 : 0, same_size ? 1 : 2, GoMemory::kBuckets,
                  GoMemory::kOldBuckets);
    grown.fill(GoMemory::kBuckets, same_size ? 2 : 4, {all.begin(), all.begin() + 6});
    grown.fill(GoMemory::kOldBuckets, 1, {{"old", "moved"}});
    grown.memory.put(GoMemory::kOldBuckets, std::uint8_t{2});
    grown.memory.map(GoMemory::kOldBuckets, 2 * GoMemory::kBucketBytes);
    grown.fill(GoMemory::kOldBuckets + GoMemory::kBucketBytes, 1, {all.begin() + 6, all.end()});
    expect_labels(observe_both(grown), all);
  }
}

TEST_CASE("go_labels: before Go 1.12 the marks of entries began one lower") {
  GoMemory go(11);
  go.publish({{"low", "mark"}});
  expect_labels(observe_both(go), {{"low", "mark"}});
  put_parameters({*go_layout(12), GoMemory::kText, GoMemory::kTextEnd}, go.recipe);
  CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
}

TEST_CASE("go_labels: a thread without a goroutine is unlabelled, not unreadable") {
  GoMemory go(19);
  go.publish(pairs(1));
  SECTION("a thread of C") { go.memory.put(GoMemory::kSlot, Address{0}); }
  SECTION("the scheduler") {
    go.memory.put(GoMemory::kSlot, GoMemory::kG0);
    go.memory.put(go.curg(), Address{0});
  }
  SECTION("a thread that starts") {
    go.memory.put(GoMemory::kM + go.layout.m_procid, std::uint64_t{0});
  }
  expect_no_goroutine(observe_both(go));
}

TEST_CASE("go_labels: on the scheduler's stack the labels are still the goroutine's") {
  GoMemory go(24);
  go.publish(pairs(2));
  go.memory.put(GoMemory::kSlot, GoMemory::kG0);
  expect_labels(observe_both(go), pairs(2));
}

TEST_CASE("go_labels: in register x28") {
  GoMemory go(22);
  go.publish(pairs(2));
  go.recipe.kind = LS_IN_REGISTER;
  expect_labels(observe_both(go, kNumber, GoMemory::kG), pairs(2));
  CHECK(observe_both(go, kNumber, 0).outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(observe_both(go, kNumber, GoMemory::kStrings).outcome == LS_UNREADABLE_MALFORMED);
  CHECK(observe_both(go, kNumber, 0x1234).outcome == LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("go_labels: a chain that does not hold together gives no label") {
  GoMemory go(21);
  go.publish(pairs(4));
  SECTION("another thread's") { CHECK(observe_both(go, 18).outcome == LS_UNREADABLE_MALFORMED); }
  SECTION("it is known who the thread is, but not by which number") {
    expect_labels(observe_both(go, 0), pairs(4));
  }
  SECTION("a goroutine of another thread") {
    go.memory.put(GoMemory::kSlot, GoMemory::kG0);
    go.memory.put(GoMemory::kG + go.layout.g_m, GoMemory::kM + 64);
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("a goroutine of no thread") {
    go.memory.put(GoMemory::kG + go.layout.g_m, Address{0});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("made by what is not code") {
    go.memory.put(GoMemory::kG + go.layout.g_labels - 64, GoMemory::kTextEnd);
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("a thread of C calls Go: its goroutine has no creator") {
    go.memory.put(GoMemory::kG + go.layout.g_labels - 64, Address{0});
    go.memory.put(GoMemory::kG + go.layout.g_labels - 48, Address{0});
    expect_labels(observe_both(go), pairs(4));
  }
}

// A file may claim another version than its own.
TEST_CASE("go_labels: each wrong version is found out, or reads the same") {
  for (unsigned real = kOldestGo; real <= kNewestGo; ++real) {
    for (unsigned said = kOldestGo; said <= kNewestGo; ++said) {
      INFO("Go 1." << real << " that says 1." << said);
      GoMemory go(real);
      go.publish(pairs(9));
      put_parameters({*go_layout(said), GoMemory::kText, GoMemory::kTextEnd}, go.recipe);
      const Observation seen = observe_both(go);
      if (seen.outcome == LS_LABELLED) {
        expect_labels(seen, pairs(9));
      } else {
        // A map that is taken for a slice has the word behind its pointer as its length, which is 0
        // here.
        CHECK((is_unreadable(seen.outcome) || (real == 23 && said == 24)));
        CHECK(seen.labels.empty());
      }
    }
  }
}

TEST_CASE("go_labels: what is no map is taken for none") {
  GoMemory go(20);
  go.publish(pairs(12));
  constexpr Address kFlags = GoMemory::kMap + 8;
  SECTION("a chain that leads to itself") {
    go.memory.put(GoMemory::kMap, std::uint64_t{100});
    go.memory.put(GoMemory::kBuckets + 264, GoMemory::kBuckets);
    for (int cell = 1; cell < 8; ++cell) {
      go.memory.put(GoMemory::kBuckets + static_cast<Address>(cell), std::uint8_t{0});
    }
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("an empty chain that leads to itself") {
    for (int cell = 0; cell < 8; ++cell) {
      go.memory.put(GoMemory::kBuckets + static_cast<Address>(cell), std::uint8_t{0});
    }
    go.memory.put(GoMemory::kBuckets + 264, GoMemory::kBuckets);
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("fewer entries than it says") {
    go.memory.put(GoMemory::kMap, std::uint64_t{13});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("it is being written") {
    go.memory.put(kFlags, std::uint8_t{4});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("flags that Go does not have") {
    go.memory.put(kFlags, std::uint8_t{16});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("more buckets than there is memory") {
    go.memory.put(kFlags + 1, std::uint8_t{33});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("no buckets") {
    go.memory.put(GoMemory::kMap + 16, Address{0});
    CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  }
  SECTION("a bucket that is not there") {
    go.memory.unmap_page(GoMemory::kBuckets);
    CHECK(observe_both(go).outcome == LS_UNREADABLE_NOT_RESIDENT);
  }
}

TEST_CASE("go_labels: a slice that contradicts itself") {
  GoMemory go(25);
  go.publish(pairs(4));
  go.put_slice(GoMemory::kPairs, 4, 3);
  CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  go.put_slice(0, 4, 4);
  CHECK(observe_both(go).outcome == LS_UNREADABLE_MALFORMED);
  go.put_slice(GoMemory::kPairs, 0, 4);
  CHECK(observe_both(go).outcome == LS_UNLABELLED);
  go.put_slice(0x10, 4, 4);
  CHECK(observe_both(go).outcome == LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("go_labels: both walks agree on memory that chance has damaged") {
  unsigned labelled = 0;
  unsigned malformed = 0;
  unsigned missing = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 chance(seed);
    const auto below = [&](std::uint64_t bound) { return chance() % bound; };
    GoMemory go(kOldestGo + static_cast<unsigned>(below(kNewestGo - kOldestGo + 1)));
    const bool is_map = go.layout.least_mark != 0;
    go.publish(pairs(below(90)));
    if (is_map && below(3) == 0) {
      const unsigned log = static_cast<unsigned>(1 + below(4));
      go.put_map(below(100), static_cast<std::uint8_t>(below(2) * 8), log, GoMemory::kBuckets,
                 below(2) * GoMemory::kOldBuckets);
      go.fill(GoMemory::kBuckets, std::size_t{1} << log, pairs(below(60)));
      go.fill(GoMemory::kOldBuckets, std::size_t{1} << log, pairs(below(60)));
      for (std::uint64_t i = 0; i < below(6); ++i) {
        go.memory.put(GoMemory::kOldBuckets + below(4) * GoMemory::kBucketBytes,
                      static_cast<std::uint8_t>(below(7)));
      }
    }
    const Address places[] = {GoMemory::kSlot,
                              GoMemory::kG + go.layout.g_m,
                              go.curg(),
                              GoMemory::kG + go.layout.g_labels,
                              GoMemory::kLabels,
                              GoMemory::kMap,
                              GoMemory::kMap + 8,
                              GoMemory::kMap + 16,
                              GoMemory::kMap + 24,
                              GoMemory::kBuckets + below(1200) * 8,
                              GoMemory::kPairs + below(300) * 8,
                              GoMemory::kOldBuckets + below(600) * 8};
    const std::uint64_t words[] = {0,
                                   1,
                                   GoMemory::kBuckets,
                                   GoMemory::kOldBuckets,
                                   GoMemory::kG0,
                                   GoMemory::kLabels,
                                   below(~0ULL),
                                   below(200),
                                   0x0505050505050505};
    for (std::uint64_t damage = below(3); damage > 0; --damage) {
      go.memory.put(places[below(std::size(places))], words[below(std::size(words))]);
    }
    if (below(10) == 0) go.memory.unmap_page(GoMemory::kBuckets + below(3) * FakeMemory::kPage);
    if (below(10) == 0) go.memory.unmap_page(GoMemory::kStrings);
    const Observation seen = observe_both(go);
    labelled += seen.outcome == LS_LABELLED;
    malformed += seen.outcome == LS_UNREADABLE_MALFORMED;
    missing += seen.outcome == LS_UNREADABLE_NOT_RESIDENT;
  }
  // This shows that the random cases reach sets that are labelled.
  REQUIRE(labelled > 1000);
  REQUIRE(malformed > 500);
  REQUIRE(missing > 300);
}
