/* What a server's memory may hold that is none: pointers to nothing, to themselves and to texts
 * without an end, lists in circles, random numbers. */
#ifndef FILL_H
#define FILL_H

#include <stddef.h>
#include <stdint.h>

struct area {
  void* start; /* NULL: behind the last one */
  size_t size;
};

/* The kinds by name; the last one is NULL. */
extern const char* const fill_kinds[];

/* Returns 0 if there is no memory or no such kind. Of "random", a seed that is a multiple of eight
 * changes every word, and others one of two to eight words, so that some checks hold. */
int fill(const struct area* areas, const char* kind, uint64_t seed);

#endif /* FILL_H */
