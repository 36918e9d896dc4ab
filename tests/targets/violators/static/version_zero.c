/* The writer forgot to initialize the version. */
#include "writer.h"

const unsigned custom_labels_abi_version;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
