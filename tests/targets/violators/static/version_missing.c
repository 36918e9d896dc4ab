/* There is no version. */
#include "writer.h"

__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
