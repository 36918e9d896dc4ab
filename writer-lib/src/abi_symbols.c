/* The two symbols that make a library a publisher of labels (ABI v1). They have default visibility
 * and are defined in this file alone, so that other files access the variable through a TLSDESC
 * relocation that carries the symbol's name. */
#include "customlabels/writer.h"

__attribute__((visibility("default"))) const uint32_t custom_labels_abi_version =
    CUSTOM_LABELS_ABI_VERSION;

__attribute__((visibility("default"))) __thread custom_labels_labelset_t* custom_labels_current_set;
