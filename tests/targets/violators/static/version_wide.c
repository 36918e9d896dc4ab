/* The version has 8 bytes. The first four have the value 1. */
#include "writer.h"

const unsigned long long custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
