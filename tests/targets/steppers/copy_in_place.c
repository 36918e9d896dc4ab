/* A value is overwritten where readers see it, by libc on behalf of the writer. */
#include <string.h>

#include "publisher.h"

enum { kSize = 100 };
static __thread char text[kSize];
static __thread custom_labels_label_t storage[1];
static __thread custom_labels_labelset_t set;
static volatile size_t size = kSize;

void stepper_begin(void) {
  memset(text, 'a', kSize);
  storage[0].key = string_of("key");
  storage[0].value.len = kSize;
  storage[0].value.buf = (const unsigned char*)text;
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

NOINLINE void stepper_update(int turn) {
  char next[kSize];
  memset(next, 'b' + turn, kSize);
  if (custom_labels_current_set != NULL)
    memcpy(text, next, size);  // expect LS050 in stepper_update
  __asm__ volatile("" ::: "memory");
}

void stepper_end(void) { custom_labels_current_set = NULL; }
