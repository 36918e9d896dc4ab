/* What targets/publisher.c offers to the program that it is linked into or loaded by. */
#pragma once

#include "customlabels/label_abi.h"

/* The calling thread's variable. Calling it touches the variable: its TLS block exists from then
 * on. */
custom_labels_labelset_t** publisher_variable(void);
typedef custom_labels_labelset_t** publisher_variable_fn(void);
