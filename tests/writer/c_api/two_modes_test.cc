// Fixed-buffer calls and label sets on one thread: every call starts from what a reader sees.
#include <cerrno>
#include <string>
#include <thread>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: the thread's own labels have a handle that works as a set") {
  set("a", "1");
  custom_labels_labelset_t* own = custom_labels_current();
  REQUIRE(own != nullptr);
  CHECK(labels_of(own) == Labels{{"a", "1"}});
  CHECK(custom_labels_set(own, raw("b"), raw("2"), nullptr) == 0);
  CHECK(custom_labels_remove(own, raw("a")) == 0);
  CHECK(custom_labels_remove(own, raw("a")) == ENOENT);
  CHECK(current_labels() == Labels{{"b", "2"}});
  CHECK(custom_labels_current() == own);
  CHECK(custom_labels_set(own, raw("span-id"), raw("2"), nullptr) == EPERM);
  CHECK(custom_labels_set(own, raw(""), raw("2"), nullptr) == EINVAL);
  for (char key = 'c'; key < 'j'; ++key) set({&key, 1}, "");
  CHECK(custom_labels_set(own, raw("ninth"), raw("2"), nullptr) == ENOSPC);
  custom_labels_free(own);
  CHECK(custom_labels_count(own) == 8);
  CHECK(custom_labels_clear(own) == 0);
  CHECK(custom_labels_current_set == nullptr);
  CHECK(custom_labels_current() == nullptr);
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: installing a set and putting back brings the own labels back") {
  set("a", "1");
  SetObject object(Labels{{"tenant", "acme"}});
  custom_labels_labelset_t* own = custom_labels_replace(object.get());
  CHECK(current_labels() == Labels{{"tenant", "acme"}});
  CHECK(labels_of(own) == Labels{{"a", "1"}});
  CHECK(custom_labels_set(own, raw("b"), raw("2"), nullptr) == EPERM);
  CHECK(custom_labels_replace(own) == object.get());
  CHECK(current_labels() == Labels{{"a", "1"}});
  set("b", "2");
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
}

TEST_CASE_METHOD(
    Unlabelled,
    "two_modes: a call on top of an installed set shows both, and leaves the set alone") {
  SetObject object(Labels{{"tenant", "acme"}, {"route", "/pay"}});
  custom_labels_replace(object.get());
  CHECK(set("phase", "parse") == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"phase", "parse"}, {"route", "/pay"}, {"tenant", "acme"}});
  CHECK(custom_labels_current() != object.get());
  custom_labels_replace(object.get());
  CHECK(set("route", "/cart") == CUSTOM_LABELS_REPLACED);
  CHECK(current_labels() == Labels{{"route", "/cart"}, {"tenant", "acme"}});
  custom_labels_replace(object.get());
  CHECK(custom_labels_thread_remove("route", 5) == CUSTOM_LABELS_REMOVED);
  CHECK(current_labels() == Labels{{"tenant", "acme"}});
  custom_labels_replace(object.get());
  CHECK(custom_labels_thread_remove("none", 4) == CUSTOM_LABELS_ABSENT);
  CHECK(custom_labels_current() == object.get());
  CHECK(custom_labels_thread_clear() == CUSTOM_LABELS_REMOVED);
  CHECK(custom_labels_current_set == nullptr);
  CHECK(object.labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: a scope adds to the installed set, and brings it back itself") {
  SetObject object(Labels{{"tenant", "acme"}});
  custom_labels_replace(object.get());
  custom_labels_saved_t outer;
  custom_labels_saved_t inner;
  const custom_labels_label_t label = raw("route", "/pay");
  const custom_labels_label_t other = raw("route", "/cart");
  CHECK(custom_labels_thread_enter(&outer, &label, 1) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
  custom_labels_thread_enter(&inner, &other, 1);
  set("a", "1");
  CHECK(custom_labels_thread_leave(&inner) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
  CHECK(custom_labels_thread_leave(&outer) == CUSTOM_LABELS_SET);
  CHECK(custom_labels_current() == object.get());
  object.put("tenant", "globex");
  CHECK(current_labels() == Labels{{"tenant", "globex"}});
}

TEST_CASE_METHOD(
    Unlabelled,
    "two_modes: a set can be installed for a scope, over own labels and under new ones") {
  set("pool", "x");
  custom_labels_thread_set_trace(1, 2);
  const Labels before = current_labels();
  custom_labels_labelset_t* own = custom_labels_current();
  SetObject object(Labels{{"tenant", "acme"}});
  for (const int changes : {0, 1, 2, 3}) {
    custom_labels_saved_t saved;
    CHECK(custom_labels_thread_enter_set(&saved, object.get()) == CUSTOM_LABELS_SET);
    CHECK(custom_labels_current() == object.get());
    Labels expected = {{"tenant", "acme"}};
    for (int i = 0; i < changes; ++i) {
      set("step", std::to_string(i));
      expected = with(expected, "step", std::to_string(i));
    }
    CHECK(current_labels() == expected);
    CHECK(custom_labels_thread_leave(&saved) == CUSTOM_LABELS_SET);
    CHECK(current_labels() == before);
    CHECK(custom_labels_current() == own);
  }
  custom_labels_saved_t saved;
  custom_labels_thread_enter_set(&saved, nullptr);
  CHECK(custom_labels_current_set == nullptr);
  custom_labels_thread_leave(&saved);
  CHECK(current_labels() == before);
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: own labels that were lost come back as none, never as others") {
  set("pool", "x");
  SetObject object(Labels{{"tenant", "acme"}});
  custom_labels_labelset_t* own = custom_labels_replace(object.get());
  set("step", "1");
  set("step", "2");
  custom_labels_labelset_t* derived = custom_labels_current();
  CHECK(derived != own);
  CHECK(labels_of(own).empty());
  custom_labels_replace(own);
  CHECK(custom_labels_current_set == nullptr);
  custom_labels_replace(derived);
  CHECK(current_labels() == Labels{{"step", "2"}, {"tenant", "acme"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: a handle of own labels that were cleared is not that of later ones") {
  set("pool", "x");
  custom_labels_labelset_t* own = custom_labels_current();
  SetObject object(Labels{{"tenant", "acme"}});
  custom_labels_thread_clear();
  custom_labels_replace(object.get());
  set("step", "1");
  CHECK(labels_of(own).empty());
  custom_labels_replace(own);
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "two_modes: scopes bring a handle's labels back, however many sets") {
  SetObject object(Labels{{"tenant", "acme"}});
  set("pool", "x");
  custom_labels_labelset_t* own = custom_labels_current();
  for (const int sets : {1, 2, 3}) {
    custom_labels_saved_t saved;
    custom_labels_thread_enter(&saved, nullptr, 0);
    for (int i = 0; i < sets; ++i) {
      custom_labels_replace(object.get());
      set("step", std::to_string(i));
    }
    custom_labels_thread_leave(&saved);
    custom_labels_replace(nullptr);
    custom_labels_replace(own);
    CHECK(current_labels() == Labels{{"pool", "x"}});
  }
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: a scope left on another thread is in none of that one's handles") {
  SetObject object(Labels{{"tenant", "acme"}});
  for (const bool labelled : {false, true}) {
    if (labelled) set("a", "1");
    custom_labels_saved_t saved;
    custom_labels_thread_enter(&saved, nullptr, 0);
    const Labels before = current_labels();
    std::thread([&] {
      // The thread first has no memory of its own, and later an empty set of its own.
      custom_labels_replace(object.get());
      custom_labels_thread_leave(&saved);
      CHECK(current_labels() == before);
      custom_labels_replace(nullptr);
      set("pool", "x");
      custom_labels_labelset_t* own = custom_labels_current();
      custom_labels_thread_clear();
      custom_labels_replace(object.get());
      custom_labels_thread_leave(&saved);
      CHECK(current_labels() == before);
      CHECK(labels_of(own).empty());
    }).join();
  }
}

TEST_CASE_METHOD(Unlabelled, "two_modes: what does not fit the thread's memory is cut or refused") {
  SetObject many;
  for (int i = 0; i < 9; ++i) many.put("key " + std::to_string(i), "v");
  custom_labels_replace(many.get());
  CHECK(set("one more", "v") == CUSTOM_LABELS_FULL);
  CHECK(custom_labels_thread_set_trace(1, 2) == CUSTOM_LABELS_FULL);
  CHECK(custom_labels_current() == many.get());
  SetObject lengthy(Labels{{"long", std::string(1000, 'v')}, {"", "no key"}});
  custom_labels_replace(lengthy.get());
  CHECK(set("a", "1") == CUSTOM_LABELS_TRUNCATED);
  CHECK(current_labels() ==
        Labels{{"a", "1"}, {"long", std::string(CUSTOM_LABELS_THREAD_MAX_VALUE, 'v')}});
  // A label with an empty key is left out, and that alone is reported.
  SetObject nameless(Labels{{"short", "v"}, {"", "no key"}});
  custom_labels_replace(nameless.get());
  CHECK(set("a", "1") == CUSTOM_LABELS_TRUNCATED);
  CHECK(current_labels() == Labels{{"a", "1"}, {"short", "v"}});
}

TEST_CASE_METHOD(
    Unlabelled,
    "two_modes: an installed set's trace context is one, and takes no place of the program's") {
  SetObject object(Labels{{"root-span-id", "7"}, {"span-id", std::string(30, '9')}});
  for (char key = 'a'; key < 'i'; ++key) object.put({&key, 1}, "v");
  custom_labels_replace(object.get());
  CHECK(set("a", "w") == CUSTOM_LABELS_TRUNCATED);
  CHECK(view(custom_labels_current_set->storage[0].key) == "span-id");
  CHECK(view(custom_labels_current_set->storage[0].value) == std::string(20, '9'));
  CHECK(view(custom_labels_current_set->storage[1].value) == "7");
  CHECK(current_labels().size() == 10);
  custom_labels_replace(object.get());
  CHECK(custom_labels_thread_clear() == CUSTOM_LABELS_TRUNCATED);
  CHECK(current_labels().size() == 2);
  custom_labels_replace(object.get());
  CHECK(custom_labels_thread_clear_trace() == CUSTOM_LABELS_REMOVED);
  CHECK(current_labels().size() == 8);
}

TEST_CASE_METHOD(
    Unlabelled,
    "two_modes: of a program's own set by the ABI the labels that count are taken over") {
  custom_labels_label_t storage[] = {raw("a", "1"), raw("gone", "x"), raw("a", "later")};
  storage[1].key.buf = nullptr;
  custom_labels_labelset_t foreign = {storage, 3, 3};
  custom_labels_replace(&foreign);
  CHECK(set("b", "2") == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
}

TEST_CASE_METHOD(Unlabelled, "two_modes: another thread's own set is of no use, and does no harm") {
  set("a", "1");
  custom_labels_labelset_t* own = custom_labels_current();
  std::thread([&] {
    set("b", "2");
    CHECK(labels_of(own).empty());
    CHECK(custom_labels_set(own, raw("c"), raw("3"), nullptr) == EPERM);
    CHECK(custom_labels_replace(own) != nullptr);
    CHECK(custom_labels_current_set == nullptr);
    custom_labels_free(own);
  }).join();
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "two_modes: a captured clone of own labels can be installed elsewhere") {
  set("a", "1");
  custom_labels_thread_set_trace(1, 2);
  custom_labels_labelset_t* captured = custom_labels_clone(custom_labels_current());
  Labels seen;
  std::thread([&] {
    custom_labels_replace(captured);
    set("b", "2");
    seen = current_labels();
  }).join();
  CHECK(seen == Labels{{"a", "1"}, {"b", "2"}, {"root-span-id", "2"}, {"span-id", "1"}});
  CHECK(labels_of(captured).size() == 3);
  custom_labels_free(captured);
}
