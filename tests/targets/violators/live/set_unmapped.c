/* The memory of the set is given back, and the pointer still leads there. */
#include "writer.h"

int main(int argc, char** argv) {
  (void)argv;
  custom_labels_current_set = unmapped();
  stay(argc);
}
