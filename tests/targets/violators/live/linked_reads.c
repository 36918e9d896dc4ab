/* A program that reads the version of its library of labels (library.c): linked at a fixed place,
 * it has a copy of the library's variable among its own, and exports it. */
#include <stdint.h>

#include "customlabels/label_abi.h"
#include "stay.h"

extern const uint32_t custom_labels_abi_version;
void set_labels(void);

int main(int argc, char** argv) {
  (void)argv;
  if (custom_labels_abi_version != CUSTOM_LABELS_ABI_VERSION) return 4;
  set_labels();
  stay(argc);
}
