/* A label is set again by adding it in front: legal, the first one counts. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t storage[] = {label("tenant", "globex"), label("tenant", "acme")};
  const custom_labels_labelset_t set = {storage, 2, 2};
  custom_labels_current_set = &set;
  stay(argc);
}
