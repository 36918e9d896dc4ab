// Tests label sets as objects: what they hold, how they change while they are current, and which
// memory that needs.
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST_CASE_METHOD(Unlabelled, "label_set: a new set is empty, and grows beyond its capacity") {
  for (const std::size_t capacity : {0, 1, 3, 100}) {
    SetObject set(capacity);
    Labels expected;
    CHECK(custom_labels_count(set.get()) == 0);
    for (int i = 0; i < 50; ++i) {
      const std::string key = "key " + std::to_string(i * 7 % 50);
      const std::string value(static_cast<std::size_t>(i), 'v');
      CHECK(set.put(key, value) == 0);
      expected = with(expected, key, value);
    }
    CHECK(set.labels() == expected);
    CHECK(custom_labels_count(set.get()) == 50);
  }
}

TEST_CASE_METHOD(Unlabelled, "label_set: labels that are longer than all before them find room") {
  SetObject set(8);
  set.put("a", "1");
  set.put("b", "2");
  custom_labels_replace(set.get());
  set.put("a", "3");  // from here on the set has a second block
  // So long that writing them into a small block ends the program.
  const std::string long_key(4 << 20, 'k');
  const std::string long_value(1 << 20, 'v');
  const custom_labels_label_t grown[] = {raw("a", long_value), raw("b", "4")};
  const custom_labels_label_t added[] = {raw("a", "5"), raw(long_key, long_value)};
  for (const auto* two : {grown, added}) {
    CHECK(custom_labels_update(set.get(), two, 2) == 0);
    CHECK(set.labels() == current_labels());
    CHECK(view(custom_labels_get(set.get(), two[0].key)->value) == view(two[0].value));
    CHECK(view(custom_labels_get(set.get(), two[1].key)->value) == view(two[1].value));
  }
}

TEST_CASE_METHOD(Unlabelled, "label_set: set replaces, get finds, delete removes") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  CHECK(set.put("b", "a longer one") == 0);
  REQUIRE(custom_labels_get(set.get(), raw("b")) != nullptr);
  CHECK(view(custom_labels_get(set.get(), raw("b"))->value) == "a longer one");
  CHECK(custom_labels_get(set.get(), raw("d")) == nullptr);
  custom_labels_delete(set.get(), raw("a"));
  custom_labels_delete(set.get(), raw("not there"));
  CHECK(set.labels() == Labels{{"b", "a longer one"}, {"c", "3"}});
  CHECK(custom_labels_remove(set.get(), raw("a")) == ENOENT);
  CHECK(custom_labels_remove(set.get(), raw("c")) == 0);
  CHECK(set.labels() == Labels{{"b", "a longer one"}});
  CHECK(custom_labels_clear(set.get()) == 0);
  CHECK(custom_labels_count(set.get()) == 0);
}

TEST_CASE_METHOD(Unlabelled, "label_set: the old value is a copy of the caller's, or none") {
  SetObject set(Labels{{"a", "first"}, {"empty", ""}});
  custom_labels_string_t old = raw("not touched");
  CHECK(custom_labels_set(set.get(), raw("a"), raw("second"), &old) == 0);
  CHECK(view(old) == "first");
  std::free(const_cast<unsigned char*>(old.buf));
  CHECK(custom_labels_set(set.get(), raw("empty"), raw("x"), &old) == 0);
  CHECK(old.len == 0);
  CHECK(old.buf != nullptr);
  std::free(const_cast<unsigned char*>(old.buf));
  CHECK(custom_labels_set(set.get(), raw("new"), raw("x"), &old) == 0);
  CHECK(old.buf == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "label_set: what is installed is what readers see, until it is not") {
  SetObject a(Labels{{"a", "1"}});
  SetObject b(Labels{{"b", "2"}});
  CHECK(custom_labels_current() == nullptr);
  CHECK(custom_labels_replace(a.get()) == nullptr);
  CHECK(current_labels() == Labels{{"a", "1"}});
  CHECK(custom_labels_current() == a.get());
  CHECK(custom_labels_replace(b.get()) == a.get());
  CHECK(current_labels() == Labels{{"b", "2"}});
  CHECK(custom_labels_replace(b.get()) == b.get());
  CHECK(custom_labels_replace(nullptr) == b.get());
  CHECK(custom_labels_current_set == nullptr);
  CHECK(custom_labels_replace(nullptr) == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "label_set: an empty one can be installed, and filled while it is") {
  SetObject set;
  custom_labels_replace(set.get());
  CHECK(custom_labels_current() == set.get());
  CHECK(current_labels().empty());
  set.put("a", "1");
  CHECK(current_labels() == Labels{{"a", "1"}});
  CHECK(custom_labels_current() == set.get());
  CHECK(custom_labels_clear(set.get()) == 0);
  CHECK(custom_labels_current() == set.get());
  CHECK(current_labels().empty());
  set.put("b", "2");
  CHECK(current_labels() == Labels{{"b", "2"}});
}

TEST_CASE_METHOD(Unlabelled, "label_set: a current set never changes where a reader looks") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_replace(set.get());
  const custom_labels_label_t two[] = {raw("c", "3"), raw("a", "new")};
  const auto changes = {
      +[](custom_labels_labelset_t* s, const custom_labels_label_t*) {
        custom_labels_set(s, raw("a"), raw("9"), nullptr);
      },
      +[](custom_labels_labelset_t* s, const custom_labels_label_t* labels) {
        custom_labels_update(s, labels, 2);
      },
      +[](custom_labels_labelset_t* s, const custom_labels_label_t*) {
        custom_labels_careful_delete(s, raw("b"));
      },
      +[](custom_labels_labelset_t* s, const custom_labels_label_t*) { custom_labels_clear(s); }};
  for (const auto change : changes) {
    const custom_labels_labelset_t* before = custom_labels_current_set;
    const Labels labels = current_labels();
    change(set.get(), two);
    CHECK(custom_labels_current_set != before);
    CHECK(is_set(before, labels));
    CHECK(current_labels() == set.labels());
    CHECK(custom_labels_current() == set.get());
  }
}

// The set whose labels the callback of the next test takes.
static custom_labels_labelset_t* looked_at;

TEST_CASE_METHOD(Unlabelled, "label_set: thousands of random changes match a simple model") {
  std::mt19937 random(4);
  const auto below = [&](unsigned limit) { return random() % limit; };
  SetObject set;
  Labels model;
  for (int i = 0; i < 5000; ++i) {
    if (below(10) == 0) custom_labels_replace(below(2) == 0 ? set.get() : nullptr);
    const std::string key = "k" + std::to_string(below(12));
    const std::string value(below(4) == 0 ? below(60) : 5, static_cast<char>('a' + below(26)));
    const unsigned what = below(20);
    if (what < 12) {
      REQUIRE(set.put(key, value) == 0);
      model = with(model, key, value);
    } else if (what < 16) {
      custom_labels_delete(set.get(), raw(key));
      model = without(model, key);
    } else if (what < 19) {
      const std::string other = (below(3) == 0 ? "x" : "") + value;
      const custom_labels_label_t two[] = {raw(key, other), raw("k3", value)};
      REQUIRE(custom_labels_update(set.get(), two, 2) == 0);
      model = with(with(model, key, other), "k3", value);
    } else if (below(5) == 0) {
      custom_labels_clear(set.get());
      model.clear();
    } else {
      custom_labels_label_t two[] = {raw(key, value), raw("k3", value)};
      Labels within;
      const auto look = [](void* labels) -> void* {
        *static_cast<Labels*>(labels) = labels_of(looked_at);
        return nullptr;
      };
      looked_at = set.get();
      REQUIRE(custom_labels_run_with(set.get(), two, 2, look, &within, nullptr) == 0);
      REQUIRE(within == with(with(model, key, value), "k3", value));
    }
    REQUIRE(set.labels() == model);
    if (custom_labels_current() == set.get()) REQUIRE(current_labels() == model);
  }
}

TEST_CASE_METHOD(
    Unlabelled, "label_set: a label added while the set is not current is there when it is again") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_replace(set.get());
  set.put("a", "2");
  set.put("a", "3");
  custom_labels_replace(nullptr);
  set.put("c", "4");
  custom_labels_replace(set.get());
  set.put("a", "5");
  CHECK(current_labels() == Labels{{"a", "5"}, {"b", "2"}, {"c", "4"}});
}

TEST_CASE_METHOD(Unlabelled, "label_set: several labels are set at once, of equal keys the last") {
  SetObject set(Labels{{"a", "1"}});
  const custom_labels_label_t labels[] = {raw("b", "2"), raw("a", "3"), raw("b", "4")};
  for (const bool current : {false, true}) {
    if (current) custom_labels_replace(set.get());
    CHECK(custom_labels_update(set.get(), labels, 3) == 0);
    CHECK(set.labels() == Labels{{"a", "3"}, {"b", "4"}});
  }
}

TEST_CASE_METHOD(Unlabelled, "label_set: strings of the set itself may be passed") {
  for (const bool current : {false, true}) {
    SetObject set(Labels{{"a", "first value"}, {"b", "second"}});
    if (current) custom_labels_replace(set.get());
    const custom_labels_string_t a = custom_labels_get(set.get(), raw("a"))->value;
    CHECK(custom_labels_set(set.get(), raw("b"), a, nullptr) == 0);
    const custom_labels_string_t b = custom_labels_get(set.get(), raw("b"))->value;
    CHECK(custom_labels_set(set.get(), b, b, nullptr) == 0);
    CHECK(set.labels() ==
          Labels{{"a", "first value"}, {"b", "first value"}, {"first value", "first value"}});
  }
}

TEST_CASE_METHOD(Unlabelled, "label_set: a clone shares nothing with its original") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_labelset_t* clone = custom_labels_clone(set.get());
  custom_labels_labelset_t* wide = custom_labels_clone_with_capacity(set.get(), 50);
  REQUIRE(clone != nullptr);
  REQUIRE(wide != nullptr);
  set.put("a", "changed");
  custom_labels_set(wide, raw("c"), raw("3"), nullptr);
  CHECK(labels_of(clone) == Labels{{"a", "1"}, {"b", "2"}});
  CHECK(labels_of(wide) == Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  CHECK(set.labels() == Labels{{"a", "changed"}, {"b", "2"}});
  custom_labels_free(clone);
  custom_labels_free(wide);
}

TEST_CASE_METHOD(Unlabelled, "label_set: a set by the ABI can be read, cloned and installed") {
  custom_labels_label_t storage[] = {raw("a", "1"), raw("gone", "x"), raw("a", "later"),
                                     raw("b", "2")};
  storage[1].key.buf = nullptr;
  custom_labels_labelset_t foreign = {storage, 4, 4};
  CHECK(view(custom_labels_get(&foreign, raw("a"))->value) == "1");
  CHECK(custom_labels_get(&foreign, raw("gone")) == nullptr);
  CHECK(custom_labels_set(&foreign, raw("a"), raw("2"), nullptr) == EINVAL);
  CHECK(custom_labels_remove(&foreign, raw("a")) == EINVAL);
  CHECK(custom_labels_clear(&foreign) == EINVAL);
  custom_labels_labelset_t* clone = custom_labels_clone(&foreign);
  CHECK(labels_of(clone) == Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_free(clone);
  CHECK(custom_labels_replace(&foreign) == nullptr);
  CHECK(custom_labels_current_set == &foreign);
  CHECK(custom_labels_current() == &foreign);
  custom_labels_string_t text = {};
  CHECK(custom_labels_debug_string(&foreign, &text) == 0);
  CHECK(view(text) == "{a: 1, b: 2}");
  std::free(const_cast<unsigned char*>(text.buf));
  CHECK(custom_labels_replace(nullptr) == &foreign);
}

TEST_CASE_METHOD(Unlabelled, "label_set: the variable's value stands for the set that is current") {
  custom_labels_labelset_t* set = custom_labels_new(0);
  REQUIRE(custom_labels_replace(set) == nullptr);
  REQUIRE(custom_labels_set(set, raw("a"), raw("1"), nullptr) == 0);
  CHECK(custom_labels_set(custom_labels_current_set, raw("b"), raw("2"), nullptr) == 0);
  CHECK(labels_of(set) == Labels{{"a", "1"}, {"b", "2"}});
  CHECK(custom_labels_remove(custom_labels_current_set, raw("a")) == 0);
  const custom_labels_label_t more = {raw("c"), raw("3")};
  CHECK(custom_labels_update(custom_labels_current_set, &more, 1) == 0);
  CHECK(labels_of(set) == Labels{{"b", "2"}, {"c", "3"}});
  custom_labels_label_t one = {raw("d"), raw("4")};
  void* out = nullptr;
  const auto callback = [](void* data) -> void* {
    return custom_labels_count(static_cast<custom_labels_labelset_t*>(data)) == 3 ? data : nullptr;
  };
  CHECK(custom_labels_run_with(custom_labels_current_set, &one, 1, callback, set, &out) == 0);
  CHECK(out == set);
  // When the set is current again it is the same as before, and can be changed.
  CHECK(custom_labels_replace(custom_labels_current_set) == set);
  CHECK(custom_labels_current() == set);
  custom_labels_saved_t saved;
  CHECK(custom_labels_thread_enter_set(&saved, custom_labels_current_set) == CUSTOM_LABELS_SET);
  CHECK(custom_labels_current() == set);
  CHECK(custom_labels_clear(custom_labels_current()) == 0);
  CHECK(custom_labels_thread_leave(&saved) >= 0);
  CHECK(custom_labels_set(set, raw("e"), raw("5"), nullptr) == 0);
  custom_labels_free(custom_labels_current_set);
  CHECK(custom_labels_current() == nullptr);
  // This is also true of the thread's own set.
  CHECK(custom_labels_thread_set("x", 1, "1", 1) == CUSTOM_LABELS_SET);
  CHECK(custom_labels_set(custom_labels_current_set, raw("y"), raw("2"), nullptr) == 0);
  CHECK(labels_of(custom_labels_current()) == Labels{{"x", "1"}, {"y", "2"}});
  custom_labels_thread_clear();
}

TEST_CASE_METHOD(Unlabelled, "label_set: freeing the current set takes the labels away first") {
  custom_labels_labelset_t* set = custom_labels_new(1);
  custom_labels_set(set, raw("a"), raw("1"), nullptr);
  custom_labels_replace(set);
  custom_labels_free(set);
  CHECK(custom_labels_current_set == nullptr);
  CHECK(custom_labels_current() == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "label_set: the strings lie packed behind the array") {
  SetObject set(Labels{{"tenant", "acme"}, {"route", "/pay"}});
  custom_labels_replace(set.get());
  set.put("tenant", "a longer tenant");
  custom_labels_delete(set.get(), raw("route"));
  set.put("user", "u1");
  const custom_labels_labelset_t* shown = custom_labels_current_set;
  const auto* strings = reinterpret_cast<const unsigned char*>(shown->storage + shown->capacity);
  CHECK(static_cast<const void*>(shown->storage) == static_cast<const void*>(shown + 1));
  CHECK(std::string_view(reinterpret_cast<const char*>(strings), 27) ==
        "tenanta longer tenantuseru1");
  CHECK(shown->storage[0].key.buf == strings);
}

TEST_CASE_METHOD(Unlabelled, "label_set: changes of one size take memory once") {
  if (kSanitized) skip_test("the sanitizer's allocator does not count for mallinfo2");
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_replace(set.get());
  set.put("a", "3");
  set.put("a", "4");
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 1000; ++i) set.put("b", std::to_string(i % 10));
  CHECK(mallinfo2().uordblks == before);
}

TEST_CASE_METHOD(Unlabelled, "label_set: one set can be current on many threads") {
  SetObject set(Labels{{"tenant", "acme"}});
  std::vector<Labels> seen(4);
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (Labels& labels : seen) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        custom_labels_replace(set.get());
        if (custom_labels_get(custom_labels_current(), raw("tenant")) == nullptr) return;
        labels = current_labels();
        custom_labels_replace(nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Labels& labels : seen) CHECK(labels == Labels{{"tenant", "acme"}});
}
