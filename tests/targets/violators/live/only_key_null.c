/* The only label was removed by making its key null: a set that has an element and no label. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t storage[] = {label("tenant", "acme")};
  storage[0].key = (custom_labels_string_t){0, NULL};
  const custom_labels_labelset_t set = {storage, 1, 1};
  custom_labels_current_set = &set;
  stay(argc);
}
