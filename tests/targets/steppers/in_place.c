/* A value is overwritten where readers see it. */
#include "publisher.h"

static __thread char text[25];
static __thread custom_labels_label_t storage[1];
static __thread custom_labels_labelset_t set;

static NOINLINE void overwrite(char* to, char letter) {
  for (int i = 0; i < 24; i++) STORE(to[i], letter);  // expect LS050 in overwrite
}

void stepper_begin(void) {
  for (int i = 0; i < 24; i++) text[i] = 'a';
  storage[0].key = string_of("key");
  storage[0].value = string_of(text);
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

void stepper_update(int turn) { overwrite(text, (char)('b' + turn)); }

void stepper_end(void) { custom_labels_current_set = NULL; }
