/* All threads share one label set. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
