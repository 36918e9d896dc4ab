/* Each thread has its own version. */
#include "writer.h"

__thread unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
