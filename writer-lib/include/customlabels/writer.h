/* C API of libcustomlabels: the calling thread's own labels, published by the Custom Labels ABI v1.
 *
 * What a reader sees. Every call prepares the whole new label set in memory that is not published
 * and then makes it current with one store of a pointer. A reader that interrupts the thread, at
 * any instruction of any call, sees exactly the set before the call or exactly the set after it: no
 * mixture, no torn value, no freed memory; also for calls that change many labels.
 *
 * Which readers. Those that run while this thread is interrupted: a signal handler on this thread,
 * a debugger that stopped it (ptrace), a BPF program in an interrupt on its CPU. They see this
 * thread's stores in program order, so the library orders its stores for the compiler (signal
 * fences) and needs no CPU barrier. Not promised: another CPU that reads while the thread runs on;
 * it may meet the old set's memory being filled with the next set.
 *
 * Calling it. Any thread, at any time, in the child after fork too (it keeps its copy). Not from a
 * signal handler: the first call on a thread allocates, and a call that interrupts another call on
 * the same thread would spoil the set under construction. Reading custom_labels_current_set in a
 * signal handler is what it is for.
 *
 * Memory. 8,368 bytes per thread that uses labels, two blocks of 4,184, allocated by its first call
 * that adds a label and never after; freed when the thread ends, after the pointer is cleared. (And
 * 48 bytes thread-local.) A label that is set by a pthread-key destructor in the last round of
 * destructors keeps its blocks: a leak. */
#ifndef CUSTOMLABELS_WRITER_H
#define CUSTOMLABELS_WRITER_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stdint.h>

#include "customlabels/label_abi.h"

/* Per thread and per string, in bytes. Longer strings are cut at a UTF-8 character boundary and say
 * so; bytes that are not UTF-8 are cut at the limit. Keys are compared as they are after the cut.
 */
#define CUSTOM_LABELS_THREAD_MAX_LABELS 10
#define CUSTOM_LABELS_THREAD_MAX_KEY 128
#define CUSTOM_LABELS_THREAD_MAX_VALUE 256
#define CUSTOM_LABELS_THREAD_BLOCK_SIZE 4184

#if defined(__cplusplus)
extern "C" {
#endif

/* The two symbols of the ABI. The pointer is for reading; only this library stores to it. Null: no
 * labels. */
extern const uint32_t custom_labels_abi_version;
extern __thread custom_labels_labelset_t* custom_labels_current_set;

/* What a call did. Below zero: it failed, and the thread's labels are what they were before. */
typedef enum {
  CUSTOM_LABELS_SET = 0, /* the labels are published */
  CUSTOM_LABELS_REPLACED =
      1, /* published; the key was there before, with another value or the same */
  CUSTOM_LABELS_REMOVED = 2, /* what was there is gone */
  CUSTOM_LABELS_ABSENT = 3,  /* there was nothing to remove; nothing changed */
  CUSTOM_LABELS_TRUNCATED =
      4, /* published, new or replaced, but a key or a value was cut to its limit */
  CUSTOM_LABELS_FULL = -1,      /* more than CUSTOM_LABELS_THREAD_MAX_LABELS different keys */
  CUSTOM_LABELS_NO_MEMORY = -2, /* the thread's blocks could not be allocated */
  CUSTOM_LABELS_INVALID = -3    /* a key that is null or empty, or a null pointer with a length */
} custom_labels_result_t;

/* Sets one label: adds the key or replaces its value. Both strings are copied. A value of length 0
 * is a value (null is allowed then); a key must have at least one byte. Strings that lie in the
 * current set may be passed. SET, REPLACED, TRUNCATED, FULL, NO_MEMORY, INVALID. */
custom_labels_result_t custom_labels_thread_set(const void* key, size_t key_len, const void* value,
                                                size_t value_len);

/* As if each label were set in turn (so of two equal keys the last counts), but published at once,
 * all or none. `labels` may be null when n is 0, which changes nothing. SET, TRUNCATED, FULL,
 * NO_MEMORY, INVALID. */
custom_labels_result_t custom_labels_thread_update(const custom_labels_label_t* labels, size_t n);

/* As custom_labels_thread_update, but starting from no labels: afterwards these are all. With n = 0
 * it is custom_labels_thread_clear. */
custom_labels_result_t custom_labels_thread_replace(const custom_labels_label_t* labels, size_t n);

/* Removes one label. A key longer than the limit is cut before it is looked for. REMOVED, ABSENT,
 * INVALID. */
custom_labels_result_t custom_labels_thread_remove(const void* key, size_t key_len);

/* Removes all labels. A thread without labels publishes the null pointer. REMOVED, ABSENT. */
custom_labels_result_t custom_labels_thread_clear(void);

/* What custom_labels_thread_enter found, for custom_labels_thread_leave. 4,208 bytes, meant for the
 * stack; opaque. */
typedef struct {
  const void* blocks;
  void* live;
  uint64_t builds;
  uint64_t image[CUSTOM_LABELS_THREAD_BLOCK_SIZE / sizeof(uint64_t)];
} custom_labels_saved_t;

/* A scope: enter remembers the thread's labels in *saved and then does custom_labels_thread_update;
 * leave makes exactly the remembered set current again, whatever was set, removed or replaced in
 * between. Each is one publication. leave is right after every enter, a failed one included, and
 * belongs on the same thread. enter: as update. leave: SET, REMOVED (there were no labels before),
 * NO_MEMORY (only on another thread). */
custom_labels_result_t custom_labels_thread_enter(custom_labels_saved_t* saved,
                                                  const custom_labels_label_t* labels, size_t n);
custom_labels_result_t custom_labels_thread_leave(const custom_labels_saved_t* saved);

#if defined(__cplusplus)
}
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_WRITER_H */
