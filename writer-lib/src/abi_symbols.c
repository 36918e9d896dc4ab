/* The two symbols that make a library a publisher of labels (ABI v1). Default visibility and
 * defined here alone, so that the access in thread_labels.c goes through a TLSDESC relocation that
 * carries the symbol's name. */
#include "customlabels/writer.h"

__attribute__((visibility("default"))) const uint32_t custom_labels_abi_version =
    CUSTOM_LABELS_ABI_VERSION;

__attribute__((visibility("default"))) __thread custom_labels_labelset_t* custom_labels_current_set;
