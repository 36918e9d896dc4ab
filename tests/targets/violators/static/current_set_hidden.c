/* The variable is there, and hidden: in .symtab only. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__attribute__((visibility("hidden"))) __thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
