/* Makes the calls of the existing C API for ABI v1, and prints what each takes. Only names of that
 * API are used, so the loader can give this program either library: drop_in.py starts it with each
 * in turn.
 *
 *   drop_in_calls [batches]      (default 15)
 *
 * The first line of the output has the file of the library that was loaded. Each other line has a
 * row's name, a tab, and the nanoseconds of CPU time that one call takes: the median of the
 * batches. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "customlabels.h"

enum { kTextLength = 24, kMostLabels = 8, kValues = 4, kMostBatches = 1000 };

/* So many calls take a millisecond or less, for which a batch has the processor mostly alone. */
enum { kCallsOfABatch = 5000 };

static char keys[kMostLabels + 2][kTextLength];
static char values[kValues][kTextLength];
static size_t batches = 15;

static void write_text(char* to, const char* start, size_t number) {
  memset(to, '.', kTextLength);
  memcpy(to, start, strlen(start));
  to[strlen(start)] = (char)('0' + number);
}

static void write_texts(void) {
  for (size_t i = 0; i < kMostLabels + 2; i++) write_text(keys[i], "key number ", i);
  for (size_t i = 0; i < kValues; i++) write_text(values[i], "value ", i);
}

static custom_labels_string_t key_of(size_t i) {
  return (custom_labels_string_t){kTextLength, (const unsigned char*)keys[i]};
}
/* Values of one length take turns, so that each call changes something. */
static custom_labels_string_t value_of(size_t i) {
  return (custom_labels_string_t){kTextLength, (const unsigned char*)values[i % kValues]};
}

static void require(int error) {
  if (error == 0) return;
  fprintf(stderr, "drop_in_calls: a call failed: %s\n", strerror(error));
  exit(1);
}

/* What the calls of a row work on: the first set has the row's number of labels. */
struct sets {
  custom_labels_labelset_t* first;
  custom_labels_labelset_t* second;
  size_t count;
};

static custom_labels_labelset_t* make_set(size_t count) {
  custom_labels_labelset_t* set = custom_labels_new(count);
  if (set == NULL) require(ENOMEM);
  for (size_t i = 0; i < count; i++) require(custom_labels_set(set, key_of(i), value_of(0), NULL));
  return set;
}

static void* nothing(void* data) { return data; }

/* ---- the rows: each makes one call (or one round of calls), the i-th time */

static void replace_one(struct sets* sets, size_t i) {
  custom_labels_set(sets->first, key_of(0), value_of(i), NULL);
}

static void replace_in_turn(struct sets* sets, size_t i) {
  custom_labels_set(sets->first, key_of(i % sets->count), value_of(i), NULL);
}

static void replace_and_keep(struct sets* sets, size_t i) {
  custom_labels_string_t old;
  custom_labels_set(sets->first, key_of(0), value_of(i), &old);
  free((void*)old.buf);
}

/* Values of changing length: 16 to 24 bytes. */
static void replace_length(struct sets* sets, size_t i) {
  custom_labels_string_t value = value_of(i);
  value.len -= i % 3 * 4;
  custom_labels_set(sets->first, key_of(0), value, NULL);
}

static void add_and_delete(struct sets* sets, size_t i) {
  custom_labels_set(sets->first, key_of(kMostLabels), value_of(i), NULL);
  custom_labels_delete(sets->first, key_of(kMostLabels));
}

static void run_with_absent(struct sets* sets, size_t i) {
  custom_labels_label_t labels[] = {{key_of(kMostLabels), value_of(i)},
                                    {key_of(kMostLabels + 1), value_of(i + 1)}};
  custom_labels_run_with(sets->first, labels, 2, nothing, NULL, NULL);
}

static void run_with_present(struct sets* sets, size_t i) {
  custom_labels_label_t labels[] = {{key_of(0), value_of(i)}, {key_of(1), value_of(i + 1)}};
  custom_labels_run_with(sets->first, labels, 2, nothing, NULL, NULL);
}

static void install(struct sets* sets, size_t i) {
  custom_labels_replace(i % 2 == 0 ? sets->second : sets->first);
}

static void get(struct sets* sets, size_t i) {
  custom_labels_get(sets->first, key_of(i % sets->count));
}

static void current(struct sets* sets, size_t i) {
  (void)sets;
  (void)i;
  custom_labels_current();
}

static void clone_and_free(struct sets* sets, size_t i) {
  (void)i;
  custom_labels_free(custom_labels_clone(sets->first));
}

/* What a program does for each request: make a set, install it, put back, and free it. */
static void request(struct sets* sets, size_t i) {
  custom_labels_labelset_t* set = custom_labels_new(sets->count);
  for (size_t k = 0; k < sets->count; k++) custom_labels_set(set, key_of(k), value_of(i), NULL);
  custom_labels_labelset_t* before = custom_labels_replace(set);
  custom_labels_replace(before);
  custom_labels_free(set);
}

struct row {
  const char* name;
  void (*call)(struct sets*, size_t);
  size_t count;
  int installed;
};

static const struct row kRows[] = {
    {"replace one value, of 1", replace_one, 1, 1},
    {"replace one value, of 2", replace_one, 2, 1},
    {"replace one value, of 8", replace_one, 8, 1},
    {"replace each value in turn, of 2", replace_in_turn, 2, 1},
    {"replace each value in turn, of 8", replace_in_turn, 8, 1},
    {"replace one value by one of another length, of 2", replace_length, 2, 1},
    {"replace one value by one of another length, of 8", replace_length, 8, 1},
    {"replace one value and keep the old one, of 2", replace_and_keep, 2, 1},
    {"replace one value, of 2, not installed", replace_one, 2, 0},
    {"add a label and delete it, of 2", add_and_delete, 2, 1},
    {"add a label and delete it, of 8", add_and_delete, 8, 1},
    {"add a label and delete it, of 2, not installed", add_and_delete, 2, 0},
    {"run_with of two new labels, on 2", run_with_absent, 2, 1},
    {"run_with of two new labels, on 8", run_with_absent, 8, 1},
    {"run_with of two labels that are there, on 2", run_with_present, 2, 1},
    {"run_with of two labels that are there, on 8", run_with_present, 8, 1},
    {"replace the set", install, 2, 1},
    {"get, of 2", get, 2, 1},
    {"get, of 8", get, 8, 1},
    {"current", current, 2, 1},
    {"clone and free, of 2", clone_and_free, 2, 1},
    {"clone and free, of 8", clone_and_free, 8, 1},
    {"a request: new, set 2, replace, replace, free", request, 2, 1},
};
enum { kRowCount = sizeof kRows / sizeof kRows[0] };

static double cpu_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

static double measure(const struct row* row) {
  static double times[kMostBatches];
  struct sets sets = {make_set(row->count), make_set(row->count), row->count};
  if (row->installed) custom_labels_replace(sets.first);
  for (size_t i = 0; i < kCallsOfABatch; i++) row->call(&sets, i);
  for (size_t batch = 0; batch < batches; batch++) {
    const double start = cpu_nanoseconds();
    for (size_t i = 0; i < kCallsOfABatch; i++) row->call(&sets, i);
    times[batch] = (cpu_nanoseconds() - start) / kCallsOfABatch;
  }
  custom_labels_replace(NULL);
  custom_labels_free(sets.first);
  custom_labels_free(sets.second);
  qsort(times, batches, sizeof times[0], by_size);
  return times[batches / 2];
}

int main(int argc, char** argv) {
  if (argc > 1) batches = strtoul(argv[1], NULL, 10);
  if (batches == 0 || batches > kMostBatches) {
    fprintf(stderr, "drop_in_calls: 1 to %d batches\n", kMostBatches);
    return 2;
  }
  Dl_info library;
  if (dladdr((void*)custom_labels_set, &library) == 0) {
    fputs("drop_in_calls: the library of custom_labels_set is not known\n", stderr);
    return 1;
  }
  puts(library.dli_fname);
  write_texts();
  for (size_t i = 0; i < kRowCount; i++) printf("%s\t%.2f\n", kRows[i].name, measure(&kRows[i]));
  return 0;
}
