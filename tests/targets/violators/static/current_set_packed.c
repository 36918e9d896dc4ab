/* The pointer is at an odd address, as in a packed structure. */
#include "writer.h"

typedef const struct label_set* packed_pointer __attribute__((aligned(1)));

const unsigned custom_labels_abi_version = 1;
__thread packed_pointer custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
