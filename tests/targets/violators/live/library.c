/* The writer is correct. It is in a library, and sets one label. */
#include <stdint.h>

#include "customlabels/label_abi.h"

const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* custom_labels_current_set;

static custom_labels_label_t storage[] = {
    {{6, (const unsigned char*)"tenant"}, {4, (const unsigned char*)"acme"}}};
static const custom_labels_labelset_t set = {storage, 1, 1};

void set_labels(void) { custom_labels_current_set = &set; }
