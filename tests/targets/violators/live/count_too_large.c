/* The count belongs to another, longer storage. This one ends with its page, before the elements
 * do. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t* storage = (custom_labels_label_t*)(void*)pages_before_hole(1) +
                                   PAGE / sizeof(custom_labels_label_t) - 1;
  storage[0] = label("tenant", "acme");
  const custom_labels_labelset_t set = {storage, 3, 3};
  custom_labels_current_set = &set;
  stay(argc);
}
