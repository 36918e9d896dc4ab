/* What one thread of a target knows about itself, and how it prints that (format: tests/README.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "customlabels/label_abi.h"

enum { kMaxPublishers = 4, kMaxTruthLabels = 8 };

struct truth_variable {
  const void* address; /* null: this thread must not touch the variable */
  custom_labels_labelset_t set;
  custom_labels_label_t storage[kMaxTruthLabels];
  unsigned char shown[kMaxTruthLabels]; /* by the ABI's rules a reader shows this element */
  char text[2][32];                     /* bytes that labels point to */
};

struct truth {
  const char* kind;
  pid_t tid;
  uintptr_t thread_pointer;
  struct truth_variable variables[kMaxPublishers];
};

/* Fills in the calling thread's tid and thread pointer. */
void truth_take_identity(struct truth* truth);
/* Fills `set` with what thread number `index` publishes through publisher number `publisher`.
 * Thread 0 gets two plain labels. Other threads also get everything that the ABI allows and a
 * reader may get wrong. */
void truth_make_labels(struct truth_variable* variable, int index, int publisher);
/* Prints one JSON line on stdout. `modules` are the publishers' file names. */
void truth_print(const struct truth* truth, const char* const* modules, int publishers);
/* Prints why the target cannot continue, and ends it with status 3. */
_Noreturn void truth_cannot(const char* what, const char* why);
