/* The set lies in a packed structure, at an odd address. */
#include "writer.h"

static struct __attribute__((packed)) {
  char state;
  custom_labels_labelset_t set;
} request __attribute__((aligned(8)));

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_label_t storage[] = {label("tenant", "acme")};
  const custom_labels_labelset_t set = {storage, 1, 1};
  memcpy((char*)&request + 1, &set, sizeof set);
  custom_labels_current_set = (const void*)((char*)&request + 1);
  stay(argc);
}
