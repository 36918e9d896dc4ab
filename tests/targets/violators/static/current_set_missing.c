/* A version without labels: the variable has another name. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__thread const struct label_set* my_labels_current_set;

SET_LABELS(my_labels_current_set)
