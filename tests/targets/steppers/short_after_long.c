/* The length is zero while the value is made, by a helper that has run for a long time before. */
#include "publisher.h"

static __thread char text[1];
static __thread custom_labels_label_t storage[1];
static __thread custom_labels_labelset_t set;

static NOINLINE unsigned hash(unsigned rounds) {
  volatile unsigned value = 1;
  for (unsigned i = 0; i < rounds; i++) value = value * 31 + i;
  return value;
}

void stepper_begin(void) {
  text[0] = (char)('a' + hash(30000) % 2);
  storage[0].key = string_of("key");
  storage[0].value = string_of("a value before");
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

void stepper_update(int turn) {
  STORE(storage[0].value.len, 0);  // expect LS050 in stepper_update
  STORE(text[0], (char)('b' + turn + (hash(3) == 0)));
  STORE(storage[0].value.buf, (const unsigned char*)text);
  STORE(storage[0].value.len, 1);
}

void stepper_end(void) { custom_labels_current_set = NULL; }
