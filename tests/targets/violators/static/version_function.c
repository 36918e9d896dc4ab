/* The version is a function that returns it. */
#include "writer.h"

unsigned custom_labels_abi_version(void) { return 1; }
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
