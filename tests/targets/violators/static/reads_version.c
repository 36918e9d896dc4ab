/* A program that publishes nothing: it reads the version of a library. Linked at a fixed place, it
 * has a copy of the library's variable among its own, and exports it. */
#include <stdint.h>

extern const uint32_t custom_labels_abi_version;

int main(void) { return custom_labels_abi_version == 1 ? 0 : 1; }
