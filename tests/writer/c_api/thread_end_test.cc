// Tests calls while a thread ends, and in the child after fork.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

// Labels work in each destructor, whatever has been destroyed before it.
bool all_calls_work() {
  SetObject object(Labels{{"o", "1"}});
  custom_labels_saved_t saved;
  const custom_labels_label_t label = raw("b", "2");
  bool good = set("a", "1") >= 0;
  good = good && custom_labels_thread_enter(&saved, &label, 1) == CUSTOM_LABELS_SET;
  good = good && current_labels() == Labels{{"a", "1"}, {"b", "2"}};
  good = good && custom_labels_thread_leave(&saved) == CUSTOM_LABELS_SET;
  custom_labels_labelset_t* before = custom_labels_replace(object.get());
  good = good && current_labels() == Labels{{"o", "1"}} && labels_of(before).size() == 1;
  good = good && custom_labels_replace(before) == object.get();
  good = good && custom_labels_thread_clear() == CUSTOM_LABELS_REMOVED;
  return good && custom_labels_current_set == nullptr;
}

std::atomic<int> good_ends;
std::atomic<int> rounds;
pthread_key_t key;

// This runs in every round of destructors but the last, after which the thread's memory could not
// be freed.
void at_end(void*) {
  if (all_calls_work()) ++good_ends;
  if (++rounds < 3) pthread_setspecific(key, &rounds);
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    if (all_calls_work()) ++good_ends;
  }
};

}  // namespace

TEST_CASE_METHOD(
    Unlabelled,
    "thread_end: labels can be set in destructors of keys and of thread_local objects") {
  good_ends = 0;
  rounds = 0;
  REQUIRE(pthread_key_create(&key, at_end) == 0);
  std::thread([] {
    thread_local const AtThreadEnd guard;
    static_cast<void>(guard);
    pthread_setspecific(key, &rounds);
    CHECK(all_calls_work());
  }).join();
  CHECK(rounds == 3);
  CHECK(good_ends == 4);
}

TEST_CASE_METHOD(Unlabelled, "thread_end: a thread may end in a scope, or with a set installed") {
  SetObject object(Labels{{"o", "1"}});
  for (const bool installed : {false, true}) {
    std::thread([&] {
      custom_labels_saved_t saved;
      const custom_labels_label_t label = raw("b", "2");
      set("a", "1");
      custom_labels_thread_enter(&saved, &label, 1);
      if (installed) custom_labels_replace(object.get());
      pthread_exit(nullptr);
    }).join();
  }
  CHECK(object.labels() == Labels{{"o", "1"}});
}

TEST_CASE_METHOD(Unlabelled,
                 "thread_end: the child after fork has the labels of its parent and its own") {
  SetObject object(Labels{{"o", "1"}});
  set("a", "1");
  for (const bool installed : {false, true}) {
    if (installed) custom_labels_replace(object.get());
    const Labels parents = current_labels();
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool good = current_labels() == parents;
      good = good && object.put("o", "child") == 0 && set("b", "2") >= 0;
      good = good && custom_labels_get(custom_labels_current(), raw("b")) != nullptr;
      custom_labels_thread_clear();
      custom_labels_replace(nullptr);
      _exit(good && all_calls_work() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(current_labels() == parents);
  }
}
