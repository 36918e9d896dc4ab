/* Right: a label is put in front by moving the others back, each of which is there twice before it
 * is overwritten; an element is filled while it has no key. */
#include "publisher.h"

enum { kRoom = 8 };
static __thread custom_labels_label_t storage[kRoom];
static __thread custom_labels_labelset_t set;
static const char* const keys[] = {"k0", "key1", "k2", "key3"};
static const char* const texts[] = {"v0", "value1", "v2", "value3"};

static NOINLINE void fill(custom_labels_label_t* to, custom_labels_string_t key,
                          custom_labels_string_t value) {
  STORE(to->key.buf, NULL);
  STORE(to->key.len, key.len);
  STORE(to->value.len, value.len);
  STORE(to->value.buf, value.buf);
  STORE(to->key.buf, key.buf);
}

void stepper_begin(void) {
  fill(&storage[0], string_of("base"), string_of("x"));
  set.storage = storage;
  set.count = 1;
  PUBLISH(&set);
}

void stepper_update(int turn) {
  custom_labels_labelset_t* current = custom_labels_current_set;
  const size_t count = current->count;
  if (count == kRoom) return;
  fill(&current->storage[count], current->storage[count - 1].key,
       current->storage[count - 1].value);
  STORE(current->count, count + 1);
  for (size_t i = count - 1; i > 0; i--)
    fill(&current->storage[i], current->storage[i - 1].key, current->storage[i - 1].value);
  fill(&current->storage[0], string_of(keys[turn % 4]), string_of(texts[turn % 4]));
}

void stepper_end(void) { PUBLISH(NULL); }
