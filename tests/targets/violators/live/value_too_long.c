/* A value's length is that of the value before it, and leads beyond the end of its memory. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  unsigned char* end = pages_before_hole(1) + PAGE;
  memcpy(end - 4, "/pay", 4);
  custom_labels_label_t storage[] = {label("tenant", "acme"), label("route", "")};
  storage[1].value = (custom_labels_string_t){400, end - 4};
  const custom_labels_labelset_t set = {storage, 2, 2};
  custom_labels_current_set = &set;
  stay(argc);
}
