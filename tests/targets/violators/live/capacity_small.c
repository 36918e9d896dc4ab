/* An array of two labels that is said to have place for one. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t storage[] = {label("tenant", "acme"), label("route", "/pay")};
  const custom_labels_labelset_t set = {storage, 2, 1};
  custom_labels_current_set = &set;
  stay(argc);
}
