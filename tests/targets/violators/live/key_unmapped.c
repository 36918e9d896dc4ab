/* A key's bytes are unmapped while the label is there. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t storage[] = {label("tenant", "acme"), label("route", "/pay")};
  storage[1].key.buf = unmapped();
  const custom_labels_labelset_t set = {storage, 2, 2};
  custom_labels_current_set = &set;
  stay(argc);
}
