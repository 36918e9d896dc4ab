/* Code cannot replace itself, so this is in a library. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void copy_text(char* from, char* to, const char* changed);

/* Puts anonymous memory with the same bytes where this code is; one byte differs if `changed` is
 * not null. */
void copy_text(char* from, char* to, const char* changed) {
  const size_t size = (size_t)(to - from);
  char* copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) abort();
  memcpy(copy, from, size);
  if (changed != NULL) copy[changed - from] ^= 1;
  if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0) abort();
  if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, from) != from) abort();
  __builtin___clear_cache(from, to);
}
