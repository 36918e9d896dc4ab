/* A library with thread-local data and no labels. When many of them are loaded, module IDs grow
 * past the end of the DTV with which a thread was created. */
__thread char filler[8];

char* filler_touch(void) { return filler; }
