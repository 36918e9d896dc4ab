// Tests the two reserved labels: span-id and root-span-id.
#include <cstdint>
#include <limits>
#include <string>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

Labels traced(std::uint64_t span, std::uint64_t root, Labels labels = {}) {
  return with(with(std::move(labels), "span-id", std::to_string(span)), "root-span-id",
              std::to_string(root));
}

}  // namespace

TEST_CASE_METHOD(Unlabelled, "trace_context: one call sets both labels, in decimal") {
  for (const std::uint64_t id :
       {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{4294967296},
        std::uint64_t{10000000000000000000U}, kLargest}) {
    custom_labels_thread_set_trace(id, kLargest - id);
    CHECK(current_labels() == traced(id, kLargest - id));
  }
}

TEST_CASE_METHOD(Unlabelled, "trace_context: it is absent until it is set, and says what it did") {
  set("tenant", "acme");
  CHECK(current_labels() == Labels{{"tenant", "acme"}});
  CHECK(custom_labels_thread_clear_trace() == CUSTOM_LABELS_ABSENT);
  CHECK(custom_labels_thread_set_trace(1, 2) == CUSTOM_LABELS_SET);
  CHECK(custom_labels_thread_set_trace(3, 2) == CUSTOM_LABELS_REPLACED);
  CHECK(current_labels() == traced(3, 2, {{"tenant", "acme"}}));
  CHECK(custom_labels_thread_clear_trace() == CUSTOM_LABELS_REMOVED);
  CHECK(current_labels() == Labels{{"tenant", "acme"}});
}

TEST_CASE_METHOD(Unlabelled, "trace_context: it has the first two places, whenever it is set") {
  set("a", "1");
  custom_labels_thread_set_trace(5, 6);
  set("b", "2");
  custom_labels_thread_remove("a", 1);
  const custom_labels_labelset_t* shown = custom_labels_current_set;
  REQUIRE(shown->count == 3);
  CHECK(view(shown->storage[0].key) == "span-id");
  CHECK(view(shown->storage[1].key) == "root-span-id");
  CHECK(view(shown->storage[2].key) == "b");
}

TEST_CASE_METHOD(Unlabelled, "trace_context: clear and replace keep it, and it alone can stay") {
  set("a", "1");
  custom_labels_thread_set_trace(7, 8);
  CHECK(custom_labels_thread_clear() == CUSTOM_LABELS_REMOVED);
  CHECK(current_labels() == traced(7, 8));
  CHECK(custom_labels_thread_clear() == CUSTOM_LABELS_ABSENT);
  const custom_labels_label_t label = raw("b", "2");
  CHECK(custom_labels_thread_replace(&label, 1) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == traced(7, 8, {{"b", "2"}}));
  CHECK(custom_labels_thread_replace(nullptr, 0) == CUSTOM_LABELS_REMOVED);
  CHECK(custom_labels_thread_clear_trace() == CUSTOM_LABELS_REMOVED);
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "trace_context: eight labels of the program fit beside it, not nine") {
  custom_labels_thread_set_trace(kLargest, kLargest);
  Labels expected = traced(kLargest, kLargest);
  const std::string value(CUSTOM_LABELS_THREAD_MAX_VALUE, 'v');
  for (char i = 'a'; i < 'a' + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS; ++i) {
    const std::string key(CUSTOM_LABELS_THREAD_MAX_KEY, i);
    CHECK(set(key, value) == CUSTOM_LABELS_SET);
    expected = with(expected, key, value);
  }
  CHECK(set("ninth", "") == CUSTOM_LABELS_FULL);
  CHECK(current_labels() == expected);
  CHECK(custom_labels_current_set->count == CUSTOM_LABELS_THREAD_MAX_LABELS);
  custom_labels_thread_clear_trace();
  CHECK(set("ninth", "") == CUSTOM_LABELS_FULL);
  CHECK(custom_labels_thread_set_trace(1, 1) == CUSTOM_LABELS_SET);
}

TEST_CASE_METHOD(Unlabelled, "trace_context: its keys are refused elsewhere") {
  const custom_labels_label_t labels[] = {raw("a", "1"), raw("root-span-id", "1")};
  custom_labels_thread_set_trace(1, 2);
  CHECK(set("span-id", "9") == CUSTOM_LABELS_RESERVED);
  CHECK(custom_labels_thread_update(labels, 2) == CUSTOM_LABELS_RESERVED);
  CHECK(custom_labels_thread_replace(labels, 2) == CUSTOM_LABELS_RESERVED);
  CHECK(custom_labels_thread_remove("span-id", 7) == CUSTOM_LABELS_RESERVED);
  CHECK(current_labels() == traced(1, 2));
  CHECK(set("span-iD", "near") == CUSTOM_LABELS_SET);
}

TEST_CASE_METHOD(Unlabelled, "trace_context: a scope brings back the one from before, or none") {
  custom_labels_saved_t saved;
  const custom_labels_label_t label = raw("a", "1");
  custom_labels_thread_set_trace(1, 2);
  custom_labels_thread_enter(&saved, &label, 1);
  custom_labels_thread_set_trace(3, 4);
  set("b", "2");
  CHECK(current_labels() == traced(3, 4, {{"a", "1"}, {"b", "2"}}));
  custom_labels_thread_leave(&saved);
  CHECK(current_labels() == traced(1, 2));
  CHECK(set("c", "3") == CUSTOM_LABELS_SET);
  CHECK(current_labels() == traced(1, 2, {{"c", "3"}}));
  custom_labels_thread_clear_trace();
  custom_labels_thread_enter(&saved, &label, 1);
  custom_labels_thread_set_trace(5, 6);
  custom_labels_thread_leave(&saved);
  CHECK(current_labels() == Labels{{"c", "3"}});
}
