// Tests several publishers of one process observed as one, and the words for outcomes.
#include "labelscope/observe.h"

#include <set>

#include "support/catch.h"
#include "unit/reader/label_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kThread = 0x7f0000010000;

Observation labelled(const Pairs& pairs, std::uint8_t publisher) {
  Observation one{LS_LABELLED, 0, {}};
  for (const auto& [key, value] : pairs) one.labels.push_back({key, value, publisher});
  return one;
}
Observation plain(ls_outcome outcome, std::uint32_t flags = 0) { return {outcome, flags, {}}; }

Observation merged(std::vector<Observation> all) {
  Observation total;
  bool first = true;
  for (Observation& one : all) {
    merge_observation(total, std::move(one), first);
    first = false;
  }
  return total;
}

ls_tls_recipe at_offset(std::int64_t offset) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = offset;
  return recipe;
}

}  // namespace

TEST_CASE("observe: labels of two publishers are shown together, each with its publisher") {
  const Observation total = merged({labelled({{"a", "1"}}, 0), labelled({{"b", "2"}}, 1)});
  CHECK(total.outcome == LS_LABELLED);
  CHECK(total.flags == 0);
  CHECK(pairs_of(total.labels) == Pairs{{"a", "1"}, {"b", "2"}});
  CHECK(total.labels[1].publisher == 1);
}

TEST_CASE("observe: the same label from two publishers is one label") {
  const Observation total = merged({labelled({{"a", "1"}}, 0), labelled({{"a", "1"}}, 1)});
  CHECK(pairs_of(total.labels) == Pairs{{"a", "1"}});
  CHECK(total.flags == 0);
}

TEST_CASE("observe: one key with two values is a conflict, and both are shown") {
  const Observation total = merged({labelled({{"a", "1"}}, 0), labelled({{"a", "2"}}, 1)});
  CHECK(pairs_of(total.labels) == Pairs{{"a", "1"}, {"a", "2"}});
  CHECK(total.flags == LS_KEY_CONFLICT);
}

TEST_CASE("observe: labels beside an unreadable publisher are shown and flagged, in either order") {
  for (const bool swapped : {false, true}) {
    Observation one = labelled({{"a", "1"}}, 0);
    Observation other = plain(LS_UNREADABLE_BAD_DTV);
    if (swapped) std::swap(one, other);
    const Observation total = merged({one, other});
    CHECK(total.outcome == LS_LABELLED);
    CHECK(total.flags == LS_PARTLY_UNREADABLE);
    CHECK(total.labels.size() == 1);
  }
}

TEST_CASE("observe: unreadable beside unlabelled is unreadable, and the first reason stays") {
  CHECK(merged({plain(LS_UNLABELLED), plain(LS_UNREADABLE_MALFORMED)}).outcome ==
        LS_UNREADABLE_MALFORMED);
  CHECK(merged({plain(LS_UNREADABLE_MALFORMED), plain(LS_UNLABELLED)}).outcome ==
        LS_UNREADABLE_MALFORMED);
  CHECK(merged({plain(LS_UNREADABLE_BAD_DTV), plain(LS_UNREADABLE_MALFORMED)}).outcome ==
        LS_UNREADABLE_BAD_DTV);
}

TEST_CASE("observe: never touched is a reason for being unlabelled and for nothing else") {
  CHECK(merged({plain(LS_UNLABELLED, LS_NEVER_TOUCHED), plain(LS_UNLABELLED)}).flags ==
        LS_NEVER_TOUCHED);
  CHECK(merged({plain(LS_UNLABELLED, LS_NEVER_TOUCHED), labelled({{"a", "1"}}, 1)}).flags == 0);
  CHECK(merged({plain(LS_UNLABELLED, LS_NEVER_TOUCHED), plain(LS_UNREADABLE_MALFORMED)}).flags ==
        0);
}

TEST_CASE("observe: what publishers flagged survives") {
  Observation one = labelled({{"a", "1"}}, 0);
  one.flags = LS_TRUNCATED_BYTES;
  Observation other = labelled({{"b", "2"}}, 1);
  other.flags = LS_DUPLICATE_KEY | LS_NULL_VALUE;
  CHECK(merged({one, other}).flags == (LS_TRUNCATED_BYTES | LS_DUPLICATE_KEY | LS_NULL_VALUE));
}

TEST_CASE("observe: every recipe is applied to the thread, and labels know their recipe") {
  LabelMemory made;
  made.publish({{"a", "1"}});
  made.memory.put(kThread - 8, LabelMemory::kSet);
  made.memory.put(kThread - 16, Address{0});
  const ls_tls_recipe recipes[] = {at_offset(-16), at_offset(-8)};
  const Observation seen = observe(recipes, {kThread}, made.memory);
  CHECK(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels.size() == 1);
  CHECK(seen.labels[0].publisher == 1);
}

TEST_CASE("observe: a recipe that leads nowhere gives its reason") {
  FakeMemory memory;
  memory.put(kThread - 8, Address{0});
  ls_tls_recipe waiting{};
  waiting.kind = LS_RECIPE_NOT_RELOCATED;
  const ls_tls_recipe recipes[] = {at_offset(-8), waiting};
  CHECK(observe(recipes, {kThread}, memory).outcome == LS_UNREADABLE_NOT_RELOCATED);
  CHECK(observe(recipes, {0}, memory).outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(observe({}, {kThread}, memory).outcome == LS_UNLABELLED);
}

TEST_CASE("observe: every outcome has a name and a text of its own") {
  std::set<std::string_view> names;
  std::set<std::string_view> texts;
  for (unsigned outcome = 0; outcome < LS_OUTCOME_COUNT; ++outcome) {
    names.insert(outcome_name(outcome));
    texts.insert(outcome_text(outcome));
  }
  CHECK(names.size() == LS_OUTCOME_COUNT);
  CHECK(texts.size() == LS_OUTCOME_COUNT);
  CHECK(names.count("unknown") == 0);
  CHECK(outcome_name(LS_OUTCOME_COUNT) == "unknown");
  CHECK_FALSE(is_unreadable(LS_LABELLED));
  CHECK_FALSE(is_unreadable(LS_UNLABELLED));
  CHECK(is_unreadable(LS_UNREADABLE_NO_RECIPE));
}

TEST_CASE("observe: keeping first keys compares within one publisher only") {
  LabelSet labels = {{"k", "1", 0}, {"k", "2", 1}, {"k", "3", 0}};
  std::uint32_t flags = 0;
  keep_first_keys(labels, flags);
  CHECK(labels == LabelSet{{"k", "1", 0}, {"k", "2", 1}});
  CHECK(flags == LS_DUPLICATE_KEY);
}

}  // namespace labelscope::test
