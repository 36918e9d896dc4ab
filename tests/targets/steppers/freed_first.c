/* A value is freed while readers still find it, before the set without it is published. */
#include <stdlib.h>
#include <string.h>

#include "publisher.h"

enum { kSize = 40 };
struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t label;
  unsigned char* value;
};

static struct block* build(int turn) {
  struct block* block = malloc(sizeof *block);
  unsigned char* value = malloc(kSize);
  if (block == NULL || value == NULL) abort();
  memset(value, 'a' + turn, kSize);
  block->value = value;
  block->label.key = string_of("key");
  block->label.value.len = kSize;
  block->label.value.buf = value;
  block->set.storage = &block->label;
  block->set.count = 1;
  block->set.capacity = 1;
  return block;
}

static __thread struct block* live;

void stepper_begin(void) {
  live = build(0);
  PUBLISH(&live->set);
}

NOINLINE void stepper_update(int turn) {
  struct block* next = build(turn + 1);
  struct block* old = live;
  free(old->value);  // expect LS050 in stepper_update
  live = next;
  PUBLISH(&next->set);
  free(old);
}

void stepper_end(void) {
  PUBLISH(NULL);
  free(live->value);
  free(live);
}
