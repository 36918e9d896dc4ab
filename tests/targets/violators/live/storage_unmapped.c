/* The storage is unmapped before the set is replaced. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  const custom_labels_labelset_t set = {unmapped(), 2, 2};
  custom_labels_current_set = &set;
  stay(argc);
}
