/* A writer as ABI v1 wants it. The files next to this one differ from it in one thing each. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
