/* The program can change the version. */
#include "writer.h"

unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
