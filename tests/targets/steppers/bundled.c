/* The bundled writer with all its calls, on one thread or several. Its arguments are turns,
 * threads, and "alarms" for signals at any instruction. Each turn makes kUpdatesInTurn changes of
 * what a reader sees. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "customlabels/customlabels.h"

static long turns = 1;

static custom_labels_string_t s(const char* text) {
  custom_labels_string_t string = {strlen(text), (const unsigned char*)text};
  return string;
}

static custom_labels_label_t label(const char* key, const char* value) {
  custom_labels_label_t made = {s(key), s(value)};
  return made;
}

static void set(const char* key, const char* value) {
  custom_labels_thread_set(key, strlen(key), value, strlen(value));
}

static void own_labels(long turn) {
  char number[24];
  snprintf(number, sizeof number, "%ld", turn);
  set("turn", number);
  set("http.route", "/pay");
  set("http.route", "/a-longer-one");
  set("http.route", "/b-longer-one");
  custom_labels_thread_set_trace((uint64_t)turn, 7);
  custom_labels_label_t two[] = {label("tenant", "42"), label("turn", "x")};
  custom_labels_thread_update(two, 2);
  custom_labels_thread_remove("http.route", strlen("http.route"));
  custom_labels_thread_replace(two, 1);
  custom_labels_thread_clear_trace();
  custom_labels_thread_clear();
}

static void scopes(void) {
  custom_labels_saved_t saved;
  custom_labels_saved_t inner;
  custom_labels_label_t one = label("scope", "outer");
  custom_labels_label_t more[] = {label("scope", "inner"), label("other", "1")};
  set("before", "1");
  custom_labels_thread_enter(&saved, &one, 1);
  custom_labels_thread_enter(&inner, more, 2);
  set("within", "1");
  custom_labels_thread_leave(&inner);
  custom_labels_thread_leave(&saved);
  custom_labels_thread_clear();
}

static void* within(void* data) {
  custom_labels_set(data, s("callback"), s("yes"), NULL);
  return data;
}

static void objects(void) {
  custom_labels_saved_t saved;
  custom_labels_string_t old = {0, NULL};
  custom_labels_string_t text = {0, NULL};
  custom_labels_labelset_t* a = custom_labels_new(0);
  custom_labels_labelset_t* before = custom_labels_replace(a);
  custom_labels_set(a, s("key"), s("value"), NULL);
  custom_labels_set(a, s("key"), s("another value"), &old);
  free((void*)(uintptr_t)old.buf);
  custom_labels_label_t more[] = {label("k1", "v1"), label("k2", "v2"), label("k3", "v3")};
  custom_labels_update(a, more, 3);
  custom_labels_remove(a, s("k2"));
  custom_labels_delete(a, s("k1"));
  custom_labels_labelset_t* b = custom_labels_clone(a);
  custom_labels_set(b, s("clone"), s("1"), NULL);
  custom_labels_replace(b);
  custom_labels_run_with(b, more, 2, within, b, NULL);
  custom_labels_careful_run_with(b, more, 3, within, b, NULL);
  custom_labels_debug_string(b, &text);
  free((void*)(uintptr_t)text.buf);
  custom_labels_thread_enter_set(&saved, a);
  set("on top", "1");
  custom_labels_thread_leave(&saved);
  custom_labels_clear(b);
  custom_labels_set(b, s("again"), s("1"), NULL);
  custom_labels_free(b);
  custom_labels_replace(before);
  custom_labels_free(a);
}

static void* run(void* unused) {
  for (long turn = 0; turn < turns; turn++) {
    own_labels(turn);
    scopes();
    objects();
  }
  set("last", "words");
  return unused;
}

static void ignore(int signal) { (void)signal; }

static void set_alarms(void) {
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  signal(SIGALRM, ignore);
  setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char** argv) {
  long threads = 0;
  if (argc > 1) turns = strtol(argv[1], NULL, 10);
  if (argc > 2) threads = strtol(argv[2], NULL, 10);
  if (argc > 3 && strcmp(argv[3], "alarms") == 0) set_alarms();
  pthread_t all[64];
  if (threads > 64) return 2;
  for (long i = 0; i < threads; i++) {
    if (pthread_create(&all[i], NULL, run, NULL) != 0) return 3;
  }
  if (threads == 0) run(NULL);
  for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
  return 0;
}
