/* The memory of the set is unmapped, and the pointer still leads there. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_current_set = unmapped();
  stay(argc);
}
