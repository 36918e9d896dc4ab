/* Runs a function with a label, and without it afterwards. That is right, whatever the function is.
 */
#include <stdlib.h>

#include "publisher.h"

struct block {
  custom_labels_labelset_t set;
  custom_labels_label_t label;
};
static __thread struct block block;

typedef void (*callback)(void*);

static NOINLINE void run_with(const char* value, callback function, void* argument) {
  block.label.key = string_of("task");
  block.label.value = string_of(value);
  block.set.storage = &block.label;
  block.set.count = 1;
  PUBLISH(&block.set);
  function(argument);
  PUBLISH(NULL);
}

void stepper_begin(void) {}

void stepper_update(int turn) {
  static char number[] = "12";
  if (turn % 2 == 0) {
    run_with("clean up", free, malloc(100));
  } else {
    run_with("count", (callback)(uintptr_t)atoi, number);
  }
}

void stepper_end(void) {}
