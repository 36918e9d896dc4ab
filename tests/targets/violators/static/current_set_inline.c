/* The label set itself has the name of the pointer to it. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set[3];

SET_LABELS(custom_labels_current_set[0])
