/* The bundled writer with all its calls that publish, on several threads at once. `labelscope check
 * --strict` must find it clean in a library and in an executable.
 *
 *   self_check [--threads N] [--ms MILLISECONDS] [--updates N]
 *
 * Each thread runs until the time is over and it has made at least N updates; with neither option
 * it makes one round. The program ends with status 0 if every call did what it should. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "customlabels/customlabels.h"

static long milliseconds;
static long least_updates;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "self_check: %s failed\n", what);
  exit(3);
}

static custom_labels_string_t text(const char* bytes) {
  return (custom_labels_string_t){strlen(bytes), (const unsigned char*)bytes};
}

static custom_labels_label_t label(const char* key, const char* value) {
  return (custom_labels_label_t){text(key), text(value)};
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sets the calling thread's own labels, in 12 updates. */
static void use_thread_labels(const char* value) {
  const custom_labels_label_t two[] = {label("tenant", value), label("http.route", "/pay")};
  custom_labels_saved_t saved;
  expect(custom_labels_thread_set("tenant", 6, value, strlen(value)) >= 0, "thread_set");
  expect(custom_labels_thread_set("tenant", 6, "globex", 6) >= 0, "thread_set");
  expect(custom_labels_thread_update(two, 2) >= 0, "thread_update");
  expect(custom_labels_thread_set_trace(now_ms() & 0xffff, 7) >= 0, "thread_set_trace");
  expect(custom_labels_thread_replace(two + 1, 1) >= 0, "thread_replace");
  expect(custom_labels_thread_enter(&saved, two, 2) >= 0, "thread_enter");
  expect(custom_labels_thread_remove("tenant", 6) >= 0, "thread_remove");
  expect(custom_labels_thread_leave(&saved) >= 0, "thread_leave");
  expect(custom_labels_thread_clear_trace() >= 0, "thread_clear_trace");
  expect(custom_labels_thread_clear() >= 0, "thread_clear");
}

static void* within(void* set) {
  expect(custom_labels_get(set, text("within")) != NULL, "run_with");
  return set;
}

/* Uses sets of labels as objects, in 14 updates. */
static void use_sets(const char* value) {
  custom_labels_labelset_t* set = custom_labels_new(1);
  custom_labels_label_t three[] = {label("a", value), label("b", "2"), label("c", "")};
  custom_labels_label_t inner = label("within", "yes");
  custom_labels_labelset_t* before = custom_labels_replace(set);
  expect(custom_labels_set(set, text("tenant"), text(value), NULL) == 0, "set");
  expect(custom_labels_update(set, three, 3) == 0, "update");
  expect(custom_labels_set(set, text("b"), text("another value"), NULL) == 0, "set");
  expect(custom_labels_run_with(set, &inner, 1, within, set, NULL) == 0, "run_with");
  expect(custom_labels_remove(set, text("a")) == 0, "remove");
  custom_labels_delete(set, text("c"));
  custom_labels_labelset_t* copy = custom_labels_clone(set);
  expect(custom_labels_replace(copy) == set, "replace");
  expect(custom_labels_set(copy, text("copy"), text("yes"), NULL) == 0, "set");
  expect(custom_labels_clear(copy) == 0, "clear");
  expect(custom_labels_replace(before) == copy, "replace");
  custom_labels_free(copy);
  custom_labels_free(set);
}

static void* work(void* number) {
  char value[32];
  const int64_t end = now_ms() + milliseconds;
  long updates = 0;
  for (long round = 0; round == 0 || now_ms() < end || updates < least_updates; round++) {
    snprintf(value, sizeof value, "thread-%ld-%ld", (long)(intptr_t)number, round);
    use_thread_labels(value);
    use_sets(value);
    updates += 22;
  }
  return NULL; /* with labels or without: they go with the thread */
}

static long number_after(const char* option, int argc, char** argv, long otherwise) {
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], option) == 0) return strtol(argv[i + 1], NULL, 10);
  }
  return otherwise;
}

int main(int argc, char** argv) {
  enum { kMaxThreads = 64 };
  pthread_t threads[kMaxThreads];
  const long count = number_after("--threads", argc, argv, 1);
  milliseconds = number_after("--ms", argc, argv, 0);
  least_updates = number_after("--updates", argc, argv, 0);
  expect(count >= 1 && count <= kMaxThreads, "--threads");
  for (intptr_t i = 1; i < count; i++) {
    expect(pthread_create(&threads[i], NULL, work, (void*)i) == 0, "pthread_create");
  }
  work(NULL);
  for (long i = 1; i < count; i++) pthread_join(threads[i], NULL);
  return 0;
}
