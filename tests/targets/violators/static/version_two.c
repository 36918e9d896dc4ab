/* The version is one that does not exist. */
#include "writer.h"

const unsigned custom_labels_abi_version = 2;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
