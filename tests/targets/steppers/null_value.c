/* To remove a label, the value is made null before the key is. */
#include "publisher.h"

static __thread custom_labels_label_t storage[2];
static __thread custom_labels_labelset_t set;

void stepper_begin(void) {
  storage[0].key = string_of("base");
  storage[0].value = string_of("x");
  storage[1].key = string_of("key");
  storage[1].value = string_of("value");
  set.storage = storage;
  set.count = 2;
  PUBLISH(&set);
}

static NOINLINE void remove_label(custom_labels_label_t* label) {
  STORE(label->value.buf, NULL);  // expect LS044 in remove_label
  STORE(label->key.buf, NULL);
}

void stepper_update(int turn) {
  custom_labels_label_t* label = &custom_labels_current_set->storage[1];
  if (turn % 2 == 0) {
    remove_label(label);
    return;
  }
  STORE(label->value.buf, (const unsigned char*)"value");
  STORE(label->key.buf, (const unsigned char*)"key");
}

void stepper_end(void) { custom_labels_current_set = NULL; }
