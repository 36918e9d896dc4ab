/* Almost a publisher of ABI v1, with the one flaw that the build names. */
#include <stdint.h>

#ifndef ONLY_VERSION
#ifndef NOT_THREAD_LOCAL
__thread
#endif
    void* custom_labels_current_set;
void* publisher_variable(void) { return &custom_labels_current_set; }
#endif

#ifdef ONLY_VERSION
__thread int of_something_else;
int touch(void) { return of_something_else++; }
#endif

#ifndef ONLY_SET
#ifdef WIDE_VERSION
const uint64_t custom_labels_abi_version = 1;
#elif defined(WRONG_VERSION)
const uint32_t custom_labels_abi_version = 2;
#else
const uint32_t custom_labels_abi_version = 1;
#endif
#endif
