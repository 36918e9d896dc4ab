/* A stack of labels whose count is raised before the element is filled: what was there before is
 * seen once more. */
#include "publisher.h"

static __thread custom_labels_label_t storage[2];
static __thread custom_labels_labelset_t set;
static const char* const texts[] = {"v0", "v1", "v2", "v3"};

void stepper_begin(void) {
  storage[0].key = string_of("base");
  storage[0].value = string_of("x");
  storage[1].key = string_of("old");
  storage[1].value = string_of("vx");
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

static NOINLINE void push(custom_labels_labelset_t* to, const char* text) {
  custom_labels_label_t* label = &to->storage[to->count];
  STORE(to->count, to->count + 1);  // expect LS050 in push
  STORE(label->key.buf, (const unsigned char*)"new");  // expect LS050 in push
  STORE(label->value.buf, (const unsigned char*)text);
}

static NOINLINE void pop(custom_labels_labelset_t* from) {
  STORE(from->count, from->count - 1);
  from->storage[1].key = string_of("old");
  from->storage[1].value = string_of("vx");
}

void stepper_update(int turn) {
  if (turn % 2 == 0) {
    push(custom_labels_current_set, texts[turn % 4]);
  } else {
    pop(custom_labels_current_set);
  }
}

void stepper_end(void) { custom_labels_current_set = NULL; }
