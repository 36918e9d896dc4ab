/* Right: labels are set one after the other by a function that is inlined into a loop, and cleared
 * at once. Each call is an update of its own. */
#include "publisher.h"

struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t label;
};
static __thread struct block blocks[2];
static const char* const texts[] = {"0", "1", "2", "3"};

static inline __attribute__((always_inline)) void set_label(int turn) {
  struct block* to = &blocks[turn % 2];
  to->label.key = string_of("turn");
  to->label.value = string_of(texts[turn % 4]);
  to->set.storage = &to->label;
  to->set.count = 1;
  PUBLISH(&to->set);
}

static inline __attribute__((always_inline)) void clear(void) {
  PUBLISH(NULL);
}

void stepper_begin(void) { clear(); }

void stepper_update(int turn) {
  set_label(turn);
#ifndef LIBRARY
  for (int i = 1; i < 4; i++) set_label(turn + i);
  clear();
#endif
}

void stepper_end(void) { clear(); }
