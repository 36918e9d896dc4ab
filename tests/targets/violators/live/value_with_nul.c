/* The value's length counts the NUL behind it. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  static const char value[] = "acme";
  custom_labels_label_t storage[] = {label("tenant", value)};
  storage[0].value.len = sizeof value;
  const custom_labels_labelset_t set = {storage, 1, 1};
  custom_labels_current_set = &set;
  stay(argc);
}
