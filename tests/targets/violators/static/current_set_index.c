/* The variable is a number of four bytes instead of a pointer. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__thread int custom_labels_current_set;

void set_labels(int index) { *(volatile int*)&custom_labels_current_set = index; }
