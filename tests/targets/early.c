// A program that has a label from its first moment on, and makes no system call after it. A reader
// that wants to know its thread pointer cannot wait for it to sleep.
#include <stdint.h>

#include "customlabels/label_abi.h"

__attribute__((visibility("default"))) const uint32_t custom_labels_abi_version = 1;
__attribute__((visibility("default"))) __thread custom_labels_labelset_t* custom_labels_current_set;

static unsigned char text[] =
    "early"
    "bird";
static custom_labels_label_t bird = {{5, text}, {4, text + 5}};
static custom_labels_labelset_t set = {&bird, 1, 1};

int main(void) {
  // This brings every page with a part of the set into memory before it is published.
  *(unsigned char* volatile*)&bird.key.buf = text;
  *(volatile size_t*)&set.capacity = 1;
  *(volatile unsigned char*)text = 'e';
  *(custom_labels_labelset_t* volatile*)&custom_labels_current_set = &set;
  for (;;) __asm__ volatile("" ::: "memory");
}
