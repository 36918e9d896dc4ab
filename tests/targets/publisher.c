/* A publisher of ABI v1 with no writer library behind it: the two symbols, and a function that
 * returns the calling thread's variable. It is built many times, as part of executables and as
 * libraries, in every access model (matrix.cmake). The build may set:
 * - TLS_BEFORE: bytes of TLS ahead of the variable, which is then not at offset 0 of its block;
 * - TLS_AFTER: bytes of TLS behind it, so that the block does not fit into the static surplus;
 * - TLS_ALIGN: alignment of the block, whose size is no multiple of it;
 * - PROTECTED: the variable cannot be interposed, and lld writes relocations without a symbol. */
#include "publisher.h"

#include <stdint.h>

#define KEEP __attribute__((used))

#ifdef TLS_ALIGN
KEEP static __thread char aligned[TLS_ALIGN] __attribute__((aligned(TLS_ALIGN)));
#endif
#ifdef TLS_BEFORE
KEEP static __thread char before[TLS_BEFORE];
#endif

#ifdef PROTECTED
__attribute__((visibility("protected")))
#endif
__thread custom_labels_labelset_t* custom_labels_current_set;

#ifdef TLS_AFTER
KEEP static __thread char after[TLS_AFTER];
#endif

const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;

custom_labels_labelset_t** publisher_variable(void) { return &custom_labels_current_set; }
