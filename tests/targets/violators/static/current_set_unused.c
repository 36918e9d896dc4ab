/* The library's own code does not use the variable: there is no relocation for it. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__thread const struct label_set* custom_labels_current_set;
