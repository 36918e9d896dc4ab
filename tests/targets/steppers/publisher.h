/* The two symbols of the ABI, in the file of the writer that includes this. */
#ifndef LABELSCOPE_STEPPER_PUBLISHER_H
#define LABELSCOPE_STEPPER_PUBLISHER_H

#include <stdint.h>

#include "stepper.h"

EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread custom_labels_labelset_t* custom_labels_current_set;

static inline custom_labels_string_t string_of(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  custom_labels_string_t string = {length, (const unsigned char*)text};
  return string;
}

#endif
