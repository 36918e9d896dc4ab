/* These functions copy and compare strings that are mostly short: a key or a value has some ten
 * bytes, for which the call of memcpy or memcmp costs more than its work. Up to 32 bytes are moved
 * by two loads and two stores that may overlap. Nothing outside the two strings is touched. */
#ifndef CUSTOMLABELS_SRC_BYTES_H
#define CUSTOMLABELS_SRC_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t two_words __attribute__((vector_size(16)));

/* Copies the first and the last `size` bytes of n, which are all of them if n is at most twice
 * that. If the compiler knows the size, this is two loads and two stores. */
static inline __attribute__((always_inline)) void copy_ends(unsigned char* to,
                                                            const unsigned char* from, size_t n,
                                                            size_t size) {
  unsigned char head[sizeof(two_words)];
  unsigned char tail[sizeof(two_words)];
  memcpy(head, from, size);
  memcpy(tail, from + n - size, size);
  memcpy(to, head, size);
  memcpy(to + n - size, tail, size);
}

/* Copies n bytes. The strings must not overlap; the pointers may be null if n is 0. */
static inline void copy_bytes(unsigned char* to, const unsigned char* from, size_t n) {
  if (n > 32) {
    memcpy(to, from, n);
  } else if (n >= 16) {
    copy_ends(to, from, n, 16);
  } else if (n >= 8) {
    copy_ends(to, from, n, 8);
  } else if (n >= 4) {
    copy_ends(to, from, n, 4);
  } else if (n > 0) {
    /* There are one to three bytes: the first, the middle one and the last may be the same. */
    const unsigned char first = from[0];
    const unsigned char middle = from[n / 2];
    const unsigned char last = from[n - 1];
    to[0] = first;
    to[n / 2] = middle;
    to[n - 1] = last;
  }
}

static inline uint64_t load_word(const unsigned char* from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

/* Keys of one length mostly differ at their ends, so the ends are compared first. */
static inline bool equal_bytes(const unsigned char* a, const unsigned char* b, size_t n) {
  if (n >= 8) {
    if (load_word(a + n - 8) != load_word(b + n - 8)) return false;
    if (n > 32) return memcmp(a, b, n) == 0;
    if (load_word(a) != load_word(b)) return false;
    if (n <= 16) return true;
    if (load_word(a + 8) != load_word(b + 8)) return false;
    return n <= 24 || load_word(a + 16) == load_word(b + 16);
  }
  if (n >= 4) {
    uint32_t words[4];
    memcpy(&words[0], a, 4);
    memcpy(&words[1], b, 4);
    memcpy(&words[2], a + n - 4, 4);
    memcpy(&words[3], b + n - 4, 4);
    return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
  }
  if (n == 0) return true;
  return a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

#endif /* CUSTOMLABELS_SRC_BYTES_H */
