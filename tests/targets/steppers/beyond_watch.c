/* The value of the third label is overwritten where readers see it. The function that does so has
 * no connection with the variable, and its words are more than watchpoints can watch. */
#include "publisher.h"

#define LENGTH 24
static __thread char text[LENGTH + 1];
static __thread custom_labels_label_t storage[3];
static __thread custom_labels_labelset_t set;
static __thread char* third;

static NOINLINE void overwrite(char* to, char letter) {
  for (int i = 0; i < LENGTH; i++) STORE(to[i], letter);  // expect LS050 in overwrite
}

void stepper_begin(void) {
  for (int i = 0; i < LENGTH; i++) text[i] = 'a';
  third = text;
  for (int i = 0; i < 3; i++) {
    static const char* const keys[] = {"first", "second", "third"};
    storage[i].key = string_of(keys[i]);
    storage[i].value = string_of(i < 2 ? "stays" : text);
  }
  set.storage = storage;
  set.count = 3;
  PUBLISH(&set);
}

void stepper_update(int turn) { overwrite(third, (char)('b' + turn % 20)); }

void stepper_end(void) { custom_labels_current_set = NULL; }
