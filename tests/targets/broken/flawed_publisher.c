/* Almost a publisher of ABI v1, with the one flaw that the build names: WRONG_VERSION,
 * WIDE_VERSION, NOT_THREAD_LOCAL, FOUR_BYTES, LOCAL, HIDDEN, ONLY_VERSION, ONLY_SET. */
#include <stdint.h>

#ifdef LOCAL
#define LINKAGE static
#elif defined(HIDDEN)
#define LINKAGE __attribute__((visibility("hidden")))
#else
#define LINKAGE
#endif

#ifdef NOT_THREAD_LOCAL
#define STORAGE
#else
#define STORAGE __thread
#endif

#ifdef FOUR_BYTES
typedef int32_t variable_type;
#else
typedef void* variable_type;
#endif

#ifndef ONLY_VERSION
LINKAGE STORAGE variable_type custom_labels_current_set;
void* publisher_variable(void) { return &custom_labels_current_set; }
#else
STORAGE variable_type of_something_else;
void* publisher_variable(void) { return &of_something_else; }
#endif

#ifndef ONLY_SET
#ifdef WIDE_VERSION
const uint64_t custom_labels_abi_version = 1;
#elif defined(WRONG_VERSION)
const uint32_t custom_labels_abi_version = 2;
#else
LINKAGE __attribute__((used)) const uint32_t custom_labels_abi_version = 1;
#endif
#endif
