/* The set lies in the frame of a function that has returned. Nothing is called behind it that would
 * need the place: the program stays in a loop. */
#include "writer.h"

static void __attribute__((noinline)) publish(const custom_labels_label_t* storage) {
  char deep[2048]; /* below the frames of what is called later */
  custom_labels_labelset_t set = {storage, 1, 1};
  __asm__ volatile("" : : "r"(deep), "r"(&set) : "memory");
  custom_labels_current_set = &set;
}

static void __attribute__((noinline)) go_deep(const custom_labels_label_t* storage) {
  char deep[8192];
  __asm__ volatile("" : : "r"(deep) : "memory");
  publish(storage);
  __asm__ volatile("" : : "r"(deep) : "memory");
}

int main(int argc, char** argv) {
  (void)argv;
  static custom_labels_label_t storage[1];
  storage[0] = label("tenant", "acme");
  go_deep(storage);
  stay(argc);
}
