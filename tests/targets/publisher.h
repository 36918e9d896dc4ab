/* What targets/publisher.c offers to the program that it is linked into, or that loads it. */
#pragma once

#include "customlabels/label_abi.h"

/* Returns the calling thread's variable. The call touches the variable: its TLS block exists from
 * then on. */
custom_labels_labelset_t** publisher_variable(void);
typedef custom_labels_labelset_t** publisher_variable_fn(void);
