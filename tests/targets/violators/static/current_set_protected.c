/* A definition that cannot be replaced: the linker writes a TLS descriptor without a symbol. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;
__attribute__((visibility("protected"))) __thread const struct label_set* custom_labels_current_set;

SET_LABELS(custom_labels_current_set)
