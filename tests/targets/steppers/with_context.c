/* Also publishes thread contexts, and writes one in each update: another source of labels in the
 * same file. */
#include "customlabels/thread_context.h"
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

static NOINLINE void set_value(custom_labels_string_t* value, const char* text, uint32_t tag) {
  const custom_labels_string_t next = string_of(text);
  STORE(value->len, next.len);  // expect LS050 in set_value
  thread_context_put_all(tag + 1, tag + 2, &tag, 1);
  STORE(value->buf, next.buf);
}

void stepper_update(int turn) {
  set_value(&custom_labels_current_set->storage[0].value, texts[turn % 4], (uint32_t)turn);
}

void stepper_end(void) { custom_labels_current_set = NULL; }
