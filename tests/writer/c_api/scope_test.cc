// Tests scopes of the C API that C++ guards cannot make: scopes that are left out of order, or
// never.
#include <cstdint>
#include <string>
#include <thread>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

TEST_CASE_METHOD(Unlabelled,
                 "scope: one that is left before an inner one brings back its own set") {
  custom_labels_saved_t outer;
  custom_labels_saved_t inner;
  set("a", "1");
  custom_labels_thread_enter(&outer, nullptr, 0);
  set("b", "2");
  custom_labels_thread_enter(&inner, nullptr, 0);
  custom_labels_thread_leave(&outer);
  CHECK(current_labels() == Labels{{"a", "1"}});
  set("c", "3");
  custom_labels_thread_leave(&inner);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_thread_leave(&outer);
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled, "scope: leaving brings back a full set, after any number of changes") {
  Labels full;
  for (char key = 'a'; key < 'a' + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS; ++key) {
    const std::string name(CUSTOM_LABELS_THREAD_MAX_KEY, key);
    const std::string value(CUSTOM_LABELS_THREAD_MAX_VALUE, key);
    set(name, value);
    full = with(full, name, value);
  }
  custom_labels_thread_set_trace(UINT64_MAX, UINT64_MAX);
  full = current_labels();
  for (int changes = 0; changes < 5; ++changes) {
    custom_labels_saved_t saved;
    custom_labels_thread_enter(&saved, nullptr, 0);
    for (int i = 0; i < changes; ++i) set(full[0].first, std::to_string(i));
    custom_labels_thread_leave(&saved);
    CHECK(current_labels() == full);
  }
}

TEST_CASE_METHOD(Unlabelled, "scope: one that is never left is forgotten by an outer one") {
  custom_labels_saved_t outer;
  set("a", "1");
  custom_labels_thread_enter(&outer, nullptr, 0);
  for (int i = 0; i < 10; ++i) {
    custom_labels_saved_t abandoned;
    const std::string value = std::to_string(i);
    const custom_labels_label_t label = raw("b", value);
    custom_labels_thread_enter(&abandoned, &label, 1);
  }
  custom_labels_thread_leave(&outer);
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled, "scope: one of an ended thread brings back its labels elsewhere") {
  // malloc mostly gives a thread the memory of the one before: its sets are in the same blocks.
  bool had_its_memory = false;
  for (int i = 0; i < 100 && !had_its_memory; ++i) {
    custom_labels_saved_t saved;
    const custom_labels_label_t label = raw("op", "x");
    std::thread([&] {
      set("tenant", "alice");
      custom_labels_thread_enter(&saved, &label, 1);
    }).join();
    std::thread([&] {
      set("tenant", "mallory");
      custom_labels_saved_t own;
      custom_labels_thread_enter(&own, nullptr, 0);
      had_its_memory = own.blocks == saved.blocks;
      custom_labels_thread_leave(&own);
      custom_labels_thread_leave(&saved);
      CHECK(current_labels() == Labels{{"tenant", "alice"}});
    }).join();
  }
  if (!had_its_memory) skip_test("no thread got the memory of an ended one");
}
