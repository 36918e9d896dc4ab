/* A library with thread-local data and no labels: dlopened in numbers, it makes module IDs grow
 * past the end of the DTV that a thread was born with. */
__thread char filler[8];

char* filler_touch(void) { return filler; }
