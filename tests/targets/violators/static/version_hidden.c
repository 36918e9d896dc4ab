/* The version is there, and hidden: in .symtab only. */
#include "writer.h"

__attribute__((visibility("hidden"), used)) const unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
