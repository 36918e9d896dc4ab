/* Two labels that belong together are applied one by one, each rightly. With DECLARED the writer
 * declares that they are one update. */
#include "publisher.h"

struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t labels[2];
};
static __thread struct block blocks[3];
static __thread int next_block;
static const char* const texts[] = {"0", "1", "2", "3"};

static NOINLINE void apply(int which, const char* text) {
  struct block* to = &blocks[next_block];
  next_block = (next_block + 1) % 3;
  to->set.storage = to->labels;
  to->set.count = 2;
  for (int i = 0; i < 2; i++) to->labels[i] = custom_labels_current_set->storage[i];
  to->labels[which].value = string_of(text);
  PUBLISH(&to->set);  // expect LS050 in apply
}

void stepper_begin(void) {
  static __thread struct block first;
  first.labels[0].key = string_of("route");
  first.labels[1].key = string_of("tenant");
  first.labels[0].value = first.labels[1].value = string_of("x");
  first.set.storage = first.labels;
  first.set.count = 2;
  PUBLISH(&first.set);
}

EXPORT NOINLINE void apply_both(const char* text) {
  apply(0, text);
  apply(1, text);
}

void stepper_update(int turn) {
#ifdef DECLARED
  labelscope_update_begin();
#endif
  apply_both(texts[turn % 4]);
#ifdef DECLARED
  labelscope_update_end();
#endif
}

void stepper_end(void) { PUBLISH(NULL); }
