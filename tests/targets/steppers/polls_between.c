/* Polls the kernel in the middle of an update, without waiting. The state at that moment is not
 * meant to be seen. */
#include <poll.h>

#include "publisher.h"

struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t label;
};
static __thread struct block block;
static __thread uint64_t letters[2];

static NOINLINE void overwrite(uint64_t with) {
  STORE(letters[0], with);  // expect LS050 in overwrite
  poll(0, 0, 0);
  STORE(letters[1], with);
}

void stepper_begin(void) {
  block.label.key = string_of("letters");
  block.label.value.buf = (const unsigned char*)letters;
  block.label.value.len = sizeof letters;
  letters[0] = letters[1] = 0x4141414141414141;
  block.set.storage = &block.label;
  block.set.count = 1;
  PUBLISH(&block.set);
}

void stepper_update(int turn) {
  overwrite(0x4242424242424242 + (uint64_t)turn % 8 * 0x0101010101010101);
}

void stepper_end(void) { PUBLISH(NULL); }
