/* A value's pointer is updated before its length. */
#include "publisher.h"

static __thread custom_labels_label_t storage[1];
static __thread custom_labels_labelset_t set;
static const char* const texts[] = {"first value", "the second", "a third value", "4"};

void stepper_begin(void) {
  storage[0].key = string_of("key");
  storage[0].value = string_of("initial value, the longest");
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

static NOINLINE void set_value(custom_labels_string_t* value, const char* text) {
  const custom_labels_string_t next = string_of(text);
  STORE(value->buf, next.buf);  // expect LS050 in set_value
  STORE(value->len, next.len);
}

void stepper_update(int turn) {
  set_value(&custom_labels_current_set->storage[0].value, texts[turn % 4]);
}

void stepper_end(void) { custom_labels_current_set = NULL; }
