/* The frame of a writer that breaks one rule of label sets. It is an executable that publishes by
 * itself, and is correct as a file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "customlabels/label_abi.h"
#include "stay.h"

#define PAGE 65536 /* a multiple of every page size */

__attribute__((used)) const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* volatile custom_labels_current_set;

static inline custom_labels_string_t text(const char* bytes) {
  return (custom_labels_string_t){strlen(bytes), (const unsigned char*)bytes};
}

static inline custom_labels_label_t label(const char* key, const char* value) {
  return (custom_labels_label_t){text(key), text(value)};
}

/* Returns `pages` pages of memory behind which nothing is mapped. */
static inline unsigned char* pages_before_hole(size_t pages) {
  unsigned char* start =
      mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || munmap(start + pages * PAGE, PAGE) != 0) exit(3);
  return start;
}

/* Returns an address that was mapped once. */
static inline void* unmapped(void) { return pages_before_hole(1) + PAGE; }
