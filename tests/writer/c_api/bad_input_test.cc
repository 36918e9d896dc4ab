// Tests arguments that no program should pass: each has a documented result, and does no harm.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

const custom_labels_string_t kNull = {0, nullptr};
const custom_labels_string_t kNullWithLength = {5, nullptr};

custom_labels_string_t lengthy(std::size_t length) { return {length, raw("x").buf}; }

}  // namespace

TEST_CASE_METHOD(Unlabelled, "bad_input: a null set is no set") {
  CHECK(custom_labels_count(nullptr) == 0);
  CHECK(custom_labels_get(nullptr, raw("a")) == nullptr);
  CHECK(custom_labels_at(nullptr, 0) == nullptr);
  CHECK(custom_labels_set(nullptr, raw("a"), raw("b"), nullptr) == EINVAL);
  custom_labels_string_t old = raw("x");
  CHECK(custom_labels_set(nullptr, raw("a"), raw("b"), &old) == EINVAL);
  CHECK(old.buf == nullptr);
  CHECK(custom_labels_update(nullptr, nullptr, 0) == EINVAL);
  CHECK(custom_labels_remove(nullptr, raw("a")) == EINVAL);
  CHECK(custom_labels_clear(nullptr) == EINVAL);
  CHECK(custom_labels_clone(nullptr) == nullptr);
  CHECK(custom_labels_clone_with_capacity(nullptr, 5) == nullptr);
  custom_labels_delete(nullptr, raw("a"));
  custom_labels_careful_delete(nullptr, raw("a"));
  custom_labels_free(nullptr);
  CHECK(custom_labels_debug_string(nullptr, &old) == 0);
  CHECK(view(old) == "{}");
  std::free(const_cast<unsigned char*>(old.buf));
  CHECK(custom_labels_debug_string(nullptr, nullptr) == EINVAL);
}

TEST_CASE_METHOD(Unlabelled, "bad_input: null strings are refused, but for a value of length 0") {
  for (const bool current : {false, true}) {
    SetObject set(Labels{{"a", "1"}});
    if (current) custom_labels_replace(set.get());
    CHECK(custom_labels_set(set.get(), kNull, raw("v"), nullptr) == EINVAL);
    CHECK(custom_labels_set(set.get(), kNullWithLength, raw("v"), nullptr) == EINVAL);
    CHECK(custom_labels_set(set.get(), raw("k"), kNullWithLength, nullptr) == EINVAL);
    CHECK(custom_labels_remove(set.get(), kNullWithLength) == EINVAL);
    CHECK(custom_labels_get(set.get(), kNullWithLength) == nullptr);
    CHECK(custom_labels_get(set.get(), kNull) == nullptr);
    CHECK(custom_labels_update(set.get(), nullptr, 1) == EINVAL);
    const custom_labels_label_t mixed[] = {raw("b", "2"), {kNull, kNull}};
    CHECK(custom_labels_update(set.get(), mixed, 2) == EINVAL);
    CHECK(set.labels() == Labels{{"a", "1"}});
    CHECK(custom_labels_set(set.get(), raw("k"), kNull, nullptr) == 0);
    CHECK(custom_labels_get(set.get(), raw("k"))->value.buf != nullptr);
    CHECK(set.labels() == Labels{{"a", "1"}, {"k", ""}});
  }
}

TEST_CASE_METHOD(Unlabelled,
                 "bad_input: an empty key is a key of a set, and none of the thread's") {
  SetObject set;
  custom_labels_replace(set.get());
  CHECK(set.put("", "v") == 0);
  CHECK(set.put("", "w") == 0);
  CHECK(current_labels() == Labels{{"", "w"}});
  CHECK(custom_labels_remove(set.get(), raw("")) == 0);
  CHECK(custom_labels_count(set.get()) == 0);
  CHECK(custom_labels_thread_set("", 0, "v", 1) == CUSTOM_LABELS_INVALID);
}

TEST_CASE_METHOD(Unlabelled,
                 "bad_input: values of ten megabytes are held by sets and cut by threads") {
  // NOLINTNEXTLINE(bugprone-string-constructor): ten megabytes are what is meant.
  const std::string megabytes(10'000'000, 'v');
  SetObject set;
  custom_labels_replace(set.get());
  CHECK(set.put("big", megabytes) == 0);
  CHECK(set.put(megabytes, "key") == 0);
  CHECK(set.put("small", "1") == 0);
  CHECK(set.labels() == Labels{{"big", megabytes}, {"small", "1"}, {megabytes, "key"}});
  CHECK(set.put("big", "now small") == 0);
  custom_labels_delete(set.get(), raw(megabytes));
  CHECK(current_labels() == Labels{{"big", "now small"}, {"small", "1"}});
  custom_labels_replace(nullptr);
  CHECK(::set("big", megabytes) == CUSTOM_LABELS_TRUNCATED);
  CHECK(::set(megabytes, "v") == CUSTOM_LABELS_TRUNCATED);
  CHECK(current_labels().at(0).second.size() == CUSTOM_LABELS_THREAD_MAX_VALUE);
}

TEST_CASE_METHOD(Unlabelled,
                 "bad_input: lengths that no memory holds are refused before a byte is read") {
  for (const bool current : {false, true}) {
    SetObject set(Labels{{"a", "1"}});
    if (current) custom_labels_replace(set.get());
    for (const std::size_t length : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX - 100}) {
      CHECK(custom_labels_set(set.get(), raw("b"), lengthy(length), nullptr) == ENOMEM);
      CHECK(custom_labels_set(set.get(), lengthy(length), raw("v"), nullptr) == ENOMEM);
      CHECK(custom_labels_set(set.get(), lengthy(length), lengthy(length), nullptr) == ENOMEM);
    }
    const custom_labels_label_t label = raw("b", "2");
    CHECK(custom_labels_update(set.get(), &label, 0) == 0);
    CHECK(set.labels() == Labels{{"a", "1"}});
  }
  for (const std::size_t capacity : {SIZE_MAX, SIZE_MAX / 32, SIZE_MAX / 64, SIZE_MAX / 100})
    CHECK(custom_labels_new(capacity) == nullptr);
}

TEST_CASE_METHOD(Unlabelled, "bad_input: bytes that are not UTF-8 are kept as they are") {
  const std::string bytes("\xff\x00\x80\xc3", 4);
  SetObject set(Labels{{bytes, bytes}});
  custom_labels_replace(set.get());
  CHECK(current_labels() == Labels{{bytes, bytes}});
  custom_labels_replace(nullptr);
  CHECK(::set(bytes, bytes) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{bytes, bytes}});
}
