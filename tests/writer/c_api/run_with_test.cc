// Tests labels that last for the time of a callback.
#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace {

void* call(void* act) {
  (*static_cast<std::function<void()>*>(act))();
  return act;
}

int run_with(custom_labels_labelset_t* set, const Labels& labels, std::function<void()> act) {
  std::vector<custom_labels_label_t> all;
  for (const auto& [key, value] : labels) all.push_back(raw(key, value));
  return custom_labels_run_with(set, all.data(), static_cast<int>(all.size()), call, &act, nullptr);
}

// Forbids the process to grow. Small requests still find room, at most in an arena that glibc has
// reserved for another thread. A request that is larger than such an arena, 64 MiB, is refused.
void allow_large_memory(bool allowed) {
  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = allowed ? limit.rlim_max : 0;
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

}  // namespace

TEST_CASE_METHOD(Unlabelled, "run_with: labels are there in the callback and as before after it") {
  for (const bool current : {false, true}) {
    SetObject set(Labels{{"a", "1"}, {"b", "2"}});
    if (current) custom_labels_replace(set.get());
    Labels within;
    CHECK(run_with(set.get(), {{"b", "other"}, {"c", "3"}}, [&] {
            within = set.labels();
            if (current) CHECK(current_labels() == within);
          }) == 0);
    CHECK(within == Labels{{"a", "1"}, {"b", "other"}, {"c", "3"}});
    CHECK(set.labels() == Labels{{"a", "1"}, {"b", "2"}});
    if (current) CHECK(current_labels() == set.labels());
  }
}

TEST_CASE_METHOD(Unlabelled,
                 "run_with: a key that was absent is absent again, in an empty set too") {
  SetObject set;
  custom_labels_replace(set.get());
  CHECK(run_with(set.get(), {{"a", "1"}}, [&] { CHECK(current_labels().size() == 1); }) == 0);
  CHECK(custom_labels_count(set.get()) == 0);
  CHECK(current_labels().empty());
  CHECK(custom_labels_current() == set.get());
}

TEST_CASE_METHOD(Unlabelled, "run_with: other changes of the callback stay") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_replace(set.get());
  CHECK(run_with(set.get(), {{"a", "within"}, {"c", "within"}}, [&] {
          set.put("d", "4");
          set.put("a", "changed in the callback");
          custom_labels_delete(set.get(), raw("b"));
        }) == 0);
  CHECK(current_labels() == Labels{{"a", "1"}, {"d", "4"}});
  CHECK(run_with(set.get(), {{"a", "within"}, {"c", "within"}},
                 [&] { custom_labels_clear(set.get()); }) == 0);
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled, "run_with: calls nest, with changes in between") {
  SetObject set(Labels{{"a", "1"}});
  custom_labels_replace(set.get());
  for (const bool change : {false, true}) {
    run_with(set.get(), {{"b", "2"}}, [&] {
      run_with(set.get(), {{"a", "2"}, {"c", "3"}}, [&] {
        if (change) set.put("kept", "yes");
        run_with(set.get(), {{"b", "4"}},
                 [&] { CHECK(with(current_labels(), "b", "4") == current_labels()); });
        CHECK(with(current_labels(), "b", "2") == current_labels());
      });
      CHECK(without(current_labels(), "kept") == Labels{{"a", "1"}, {"b", "2"}});
    });
    CHECK(without(current_labels(), "kept") == Labels{{"a", "1"}});
  }
  CHECK(current_labels() == Labels{{"a", "1"}, {"kept", "yes"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "run_with: the labels of the last run again, and others, show as they are given") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  custom_labels_replace(set.get());
  const Labels before = current_labels();
  const std::vector<Labels> runs = {{{"a", "4"}, {"b", "5"}}, {{"a", "6"}, {"b", "7"}},
                                    {{"b", "8"}, {"a", "9"}}, {{"a", "0"}, {"c", "1"}},
                                    {{"b", "2"}, {"c", "4"}}, {{"a", "3"}, {"b", "longer"}},
                                    {{"a", "4"}, {"a", "5"}}, {{"a", "6"}},
                                    {{"b", "7"}, {"d", "8"}}, {{"a", ""}, {"b", "9"}}};
  for (const Labels& first : runs) {
    for (const Labels& second : runs) {
      for (const Labels* labels : {&first, &first, &second, &second}) {
        Labels expected = before;
        for (const auto& [key, value] : *labels) expected = with(expected, key, value);
        CHECK(run_with(set.get(), *labels, [&] { CHECK(current_labels() == expected); }) == 0);
        CHECK(current_labels() == before);
      }
      custom_labels_label_t wrong[] = {raw("a", "x"), raw("b", "y")};
      wrong[1].value = {1, nullptr};
      CHECK(custom_labels_run_with(set.get(), wrong, 2, call, nullptr, nullptr) == EINVAL);
      CHECK(current_labels() == before);
    }
  }
  set.put("c", "z");
  CHECK(current_labels() == with(before, "c", "z"));
}

TEST_CASE_METHOD(Unlabelled,
                 "run_with: after calls that nested, a change takes nothing from them") {
  SetObject set(Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  custom_labels_replace(set.get());
  run_with(set.get(), {{"a", "x"}}, [&] { run_with(set.get(), {{"b", "y"}}, [] {}); });
  set.put("c", "z");
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}, {"c", "z"}});
}

TEST_CASE_METHOD(Unlabelled, "run_with: a set that is switched in the callback stays current") {
  SetObject set(Labels{{"a", "1"}});
  SetObject other(Labels{{"o", "1"}});
  custom_labels_replace(set.get());
  run_with(set.get(), {{"a", "2"}}, [&] { custom_labels_replace(other.get()); });
  CHECK(custom_labels_current() == other.get());
  CHECK(set.labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled, "run_with: an exception and the end of a thread put the labels back") {
  SetObject set(Labels{{"a", "1"}});
  custom_labels_replace(set.get());
  CHECK_THROWS_AS(run_with(set.get(), {{"a", "2"}}, [] { throw std::runtime_error("within"); }),
                  std::runtime_error);
  CHECK(current_labels() == Labels{{"a", "1"}});
  custom_labels_replace(nullptr);
  std::thread([&] {
    run_with(set.get(), {{"a", "2"}, {"b", "3"}}, [] { pthread_exit(nullptr); });
  }).join();
  CHECK(set.labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled, "run_with: an exception puts back as many runs as it passes") {
  SetObject object(Labels{{"a", "1"}});
  for (custom_labels_labelset_t* on :
       {object.get(), static_cast<custom_labels_labelset_t*>(nullptr)}) {
    custom_labels_replace(on);
    if (on == nullptr) set("a", "1");
    const auto nested = [&](const Labels& labels, std::function<void()> act) {
      run_with(custom_labels_current(), labels, std::move(act));
    };
    int caught = 0;
    nested({{"outer", "1"}}, [&] {
      const Labels outer = current_labels();
      try {
        nested({{"a", "2"}}, [&] {
          nested({{"b", "2"}}, [] {});  // this has ended, and is not put back again
          nested({{"a", "3"}, {"b", "3"}}, [] { throw std::runtime_error("within"); });
        });
      } catch (const std::runtime_error&) {
        ++caught;
      }
      CHECK(current_labels() == outer);
    });
    CHECK(caught == 1);
    CHECK(current_labels() == Labels{{"a", "1"}});
  }
}

TEST_CASE_METHOD(Unlabelled, "run_with: a thread that is cancelled puts the labels back") {
  SetObject set(Labels{{"a", "1"}});
  std::thread thread([&] {
    run_with(set.get(), {{"a", "2"}, {"b", "3"}}, [] {
      pthread_cancel(pthread_self());
      pthread_testcancel();
    });
  });
  thread.join();
  CHECK(set.labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "run_with: the callback's result is handed on, without a call on error") {
  SetObject set;
  custom_labels_label_t label = raw("a", "1");
  std::function<void()> act = [] {};
  void* out = nullptr;
  CHECK(custom_labels_careful_run_with(set.get(), &label, 1, call, &act, &out) == 0);
  CHECK(out == &act);
  out = nullptr;
  act = [] { FAIL("called in spite of the error"); };
  CHECK(custom_labels_run_with(set.get(), &label, -1, call, &act, &out) == EINVAL);
  CHECK(custom_labels_run_with(set.get(), nullptr, 1, call, &act, &out) == EINVAL);
  CHECK(custom_labels_run_with(nullptr, &label, 1, call, &act, &out) == EINVAL);
  CHECK(custom_labels_run_with(set.get(), &label, 1, nullptr, &act, &out) == EINVAL);
  label.key.buf = nullptr;
  CHECK(custom_labels_run_with(set.get(), &label, 1, call, &act, &out) == EINVAL);
  CHECK(out == nullptr);
  act = [] {};
  CHECK(custom_labels_run_with(set.get(), nullptr, 0, call, &act, &out) == 0);
  CHECK(out == &act);
}

TEST_CASE_METHOD(Unlabelled, "run_with: it works on the thread's own set") {
  set("a", "1");
  CHECK(run_with(custom_labels_current(), {{"a", "2"}, {"b", "3"}}, [] {
          CHECK(current_labels() == Labels{{"a", "2"}, {"b", "3"}});
          set("c", "4");
        }) == 0);
  CHECK(current_labels() == Labels{{"a", "1"}});
  CHECK(run_with(custom_labels_current(), {{"span-id", "2"}}, [] { FAIL("called"); }) == EPERM);
}

TEST_CASE_METHOD(Unlabelled,
                 "run_with: on the thread's own set everything from before comes back") {
  SetObject other(Labels{{"o", "1"}});
  set("a", "1");
  custom_labels_thread_set_trace(1, 2);
  custom_labels_labelset_t* own = custom_labels_current();
  const Labels before = current_labels();
  CHECK(run_with(own, {{"b", "2"}}, [] {
          custom_labels_thread_remove("a", 1);
          custom_labels_thread_clear_trace();
          set("c", "3");
        }) == 0);
  CHECK(current_labels() == before);
  CHECK(run_with(own, {{"b", "2"}}, [&] { custom_labels_replace(other.get()); }) == 0);
  CHECK(current_labels() == before);
  CHECK(custom_labels_current() == own);
}

TEST_CASE_METHOD(
    Unlabelled,
    "run_with: without memory for the callback's changes the set is as before the call") {
  if (kSanitized) skip_test("a sanitizer's allocator ends the program without memory");
  SetObject set(Labels{{"a", "1"}, {"b", "2"}});
  custom_labels_replace(set.get());
  const std::string megabytes(std::size_t{48} << 20, 'v');
  CHECK(run_with(set.get(), {{"b", "within"}}, [&] {
          CHECK(custom_labels_remove(set.get(), raw("a")) == 0);
          CHECK(set.put("big", megabytes) == 0);
          allow_large_memory(false);
        }) == 0);
  allow_large_memory(true);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
  CHECK(set.put("c", "3") == 0);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
}
