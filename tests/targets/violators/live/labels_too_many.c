/* A hundred labels: allowed, and more than readers keep. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  static custom_labels_label_t storage[100];
  static char keys[100][8];
  for (int i = 0; i < 100; i++) {
    snprintf(keys[i], sizeof keys[i], "key%d", i);
    storage[i] = label(keys[i], "1");
  }
  const custom_labels_labelset_t set = {storage, 100, 100};
  custom_labels_current_set = &set;
  stay(argc);
}
