/* The thread runs on a stack that is a part of the heap, and its set lies in the heap right below
 * this stack. */
#include <ucontext.h>

#include "writer.h"

static custom_labels_labelset_t* set;
static int arguments;

static void coroutine(void) {
  custom_labels_current_set = set;
  stay(arguments);
}

int main(int argc, char** argv) {
  (void)argv;
  static custom_labels_label_t storage[1];
  static ucontext_t own;
  static ucontext_t other;
  const size_t stack_size = 32768;
  arguments = argc;
  storage[0] = label("tenant", "acme");
  set = malloc(sizeof *set);
  char* stack = malloc(stack_size);
  if (set == NULL || stack == NULL || (char*)set > stack || getcontext(&other) != 0) exit(3);
  *set = (custom_labels_labelset_t){storage, 1, 1};
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = stack_size;
  other.uc_link = &own;
  makecontext(&other, coroutine, 0);
  return swapcontext(&own, &other);
}
