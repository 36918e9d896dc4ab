/* This is the C API of libcustomlabels in fixed-buffer mode: the calling thread's own labels,
 * published by the Custom Labels ABI v1. (customlabels/customlabels.h has label sets of any size,
 * as objects.)
 *
 * What a reader sees. Every call prepares the whole new label set in memory that is not published
 * and then makes it current with one store of a pointer. A reader that interrupts the thread, at
 * any instruction of any call, sees exactly the set before the call or exactly the set after it: no
 * mixture, no torn value, no freed memory. This holds for calls that change many labels too.
 *
 * Which readers. The promise holds for readers that run while this thread is interrupted: a signal
 * handler on this thread, a debugger that stopped it (ptrace), a BPF program in an interrupt on its
 * CPU. They see this thread's stores in program order, so the library orders its stores for the
 * compiler (signal fences) and needs no CPU barrier. Nothing is promised to a reader on another CPU
 * that reads while the thread runs on: it may find the old set's memory half filled with the next
 * set.
 *
 * Which labels. There are ten places. The first two are for the trace context, `span-id` and
 * `root-span-id` in decimal; one call sets both, and until then they are absent. Eight are for the
 * program. "The program's labels" below are all labels but the trace context.
 *
 * Installed sets. Every call starts from the labels that a reader would see right before it. If
 * these belong to a set that custom_labels_replace installed, a copy of them with the change is
 * published from the thread's own memory; the installed set itself is neither changed nor current
 * any more (customlabels.h says how to get it back; custom_labels_thread_leave does it by itself).
 *
 * Signal handlers. Reading custom_labels_current_set is always safe: that is what it is for. The
 * calls here are safe in a handler once the thread has its memory (custom_labels_thread_prepare, or
 * any earlier call that set a label): they then allocate nothing, take no lock and make no system
 * call. In a handler that interrupted another call of this library on the same thread they return
 * BUSY and change nothing. A handler must not jump out of a call that it interrupted (longjmp, an
 * exception): all later calls of the thread would be BUSY. Before the thread has its memory the
 * setting calls are unsafe in a handler: they call malloc.
 *
 * Everything else. Any thread may make these calls at any time, also in the child after fork (it
 * keeps its copy) and in destructors at the end of a thread. A child of vfork must not: it runs on
 * its parent's variables.
 *
 * Memory. A thread that sets labels takes CUSTOM_LABELS_THREAD_MEMORY, 7,008 bytes: two blocks of
 * 3,480 bytes, and 48 more. Its first call that sets a label allocates them in one piece, and no
 * later call allocates; they are freed when the thread ends, after the pointer is cleared. Each
 * thread also has CUSTOM_LABELS_THREAD_TLS_BYTES, 96 bytes, of thread-local memory, the variable of
 * the ABI included. A label that is set by a pthread-key destructor in the last round of
 * destructors keeps its blocks: a leak. */
#ifndef CUSTOMLABELS_WRITER_H
#define CUSTOMLABELS_WRITER_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stdint.h>

#include "customlabels/label_abi.h"

/* These are limits per thread, and per string in bytes. Longer strings are cut at a UTF-8 character
 * boundary, and the result says so; bytes that are not UTF-8 are cut at the limit. Keys are
 * compared as they are after the cut. */
#define CUSTOM_LABELS_THREAD_MAX_LABELS 10
#define CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS 8
#define CUSTOM_LABELS_THREAD_MAX_KEY 128
#define CUSTOM_LABELS_THREAD_MAX_VALUE 256
#define CUSTOM_LABELS_THREAD_MAX_TRACE_VALUE 20
#define CUSTOM_LABELS_THREAD_BLOCK_SIZE 3480
#define CUSTOM_LABELS_THREAD_MEMORY 7008
#define CUSTOM_LABELS_THREAD_TLS_BYTES 96

/* The keys of the trace context. */
#define CUSTOM_LABELS_SPAN_ID_KEY "span-id"
#define CUSTOM_LABELS_ROOT_SPAN_ID_KEY "root-span-id"

#if defined(__cplusplus)
extern "C" {
#endif

/* The two symbols of the ABI. Programs may read the pointer; only this library stores to it. It is
 * null if the thread has no labels. */
extern const uint32_t custom_labels_abi_version;
extern __thread custom_labels_labelset_t* custom_labels_current_set;

/* What a call did. A result below zero means that it failed, and the thread's labels are what they
 * were before. */
typedef enum {
  CUSTOM_LABELS_SET = 0, /* the labels are published */
  CUSTOM_LABELS_REPLACED =
      1, /* published; the key was there before, with another value or the same */
  CUSTOM_LABELS_REMOVED = 2, /* the label that was there is gone */
  CUSTOM_LABELS_ABSENT = 3,  /* there was nothing to remove; nothing changed */
  CUSTOM_LABELS_TRUNCATED =
      4, /* published, new or replaced, but a key or a value was cut to its limit */
  CUSTOM_LABELS_FULL = -1,      /* more than CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS keys */
  CUSTOM_LABELS_NO_MEMORY = -2, /* the thread's blocks could not be allocated */
  CUSTOM_LABELS_INVALID = -3,   /* a key that is null or empty, or a null pointer with a length */
  CUSTOM_LABELS_RESERVED = -4,  /* a key of the trace context; see custom_labels_thread_set_trace */
  CUSTOM_LABELS_BUSY = -5       /* the caller is a signal handler that interrupted another call */
} custom_labels_result_t;

/* Allocates the thread's memory now, so that no later call on this thread does. Returns SET (the
 * thread has it) or NO_MEMORY. The call is unsafe in a signal handler. */
custom_labels_result_t custom_labels_thread_prepare(void);

/* Sets one label: adds the key or replaces its value. Both strings are copied. A value of length 0
 * is a value (null is allowed then); a key must have at least one byte. Strings that lie in the
 * current set may be passed. The keys of the trace context are refused: two writers of one key
 * would overwrite each other. Returns SET, REPLACED, TRUNCATED, FULL, NO_MEMORY, INVALID, RESERVED
 * or BUSY. */
custom_labels_result_t custom_labels_thread_set(const void* key, size_t key_len, const void* value,
                                                size_t value_len);

/* Sets labels as if each were set in turn (so the last of two equal keys counts), but publishes
 * them at once, all or none. `labels` may be null when n is 0, which changes nothing. Returns SET,
 * TRUNCATED, FULL, NO_MEMORY, INVALID, RESERVED or BUSY. */
custom_labels_result_t custom_labels_thread_update(const custom_labels_label_t* labels, size_t n);

/* Does the same as custom_labels_thread_update, but in place of the program's labels: afterwards
 * the thread has these labels and the trace context as it was. With n = 0 it is
 * custom_labels_thread_clear. */
custom_labels_result_t custom_labels_thread_replace(const custom_labels_label_t* labels, size_t n);

/* Removes one label. A key longer than the limit is cut before it is looked for. Returns REMOVED,
 * ABSENT, INVALID, RESERVED (custom_labels_thread_clear_trace removes those keys) or BUSY. If an
 * installed set is current, its other labels are copied, so the result may also be FULL, TRUNCATED
 * or NO_MEMORY. */
custom_labels_result_t custom_labels_thread_remove(const void* key, size_t key_len);

/* Removes the program's labels; the trace context stays. A thread without labels publishes the null
 * pointer. Returns REMOVED, ABSENT, BUSY or NO_MEMORY (only if an installed set has a trace
 * context). */
custom_labels_result_t custom_labels_thread_clear(void);

/* Sets both labels of the trace context in one publication, in unsigned decimal. Zero is a number
 * like any other. Returns SET (it was absent), REPLACED, NO_MEMORY or BUSY; TRUNCATED and FULL only
 * if an installed set has more than fits. */
custom_labels_result_t custom_labels_thread_set_trace(uint64_t span_id, uint64_t root_span_id);

/* Removes both; the program's labels stay. Returns REMOVED, ABSENT or BUSY, or else the same as
 * set_trace. */
custom_labels_result_t custom_labels_thread_clear_trace(void);

/* What custom_labels_thread_enter found, for custom_labels_thread_leave. The struct is opaque and
 * meant for the stack. It has 3,528 bytes, and enter writes only as many as the labels need. */
typedef struct {
  const void* blocks;
  const void* own;
  const void* handle;
  custom_labels_labelset_t* current;
  uint64_t builds;
  uint64_t trace;
  uint64_t image[CUSTOM_LABELS_THREAD_BLOCK_SIZE / sizeof(uint64_t)];
} custom_labels_saved_t;

/* These two calls make a scope: enter remembers the thread's labels in *saved and then does
 * custom_labels_thread_update; leave makes exactly the remembered labels current again (or none if
 * there were none), the trace context included, whatever was set, removed or replaced in between.
 * Each is one publication. A set that is installed when a scope is entered must not be freed before
 * the scope is left. leave is right after every enter, a failed one included, and belongs on the
 * same thread; on another one it does what it can: it sets the remembered labels there. enter
 * returns the same as update. leave returns SET, REMOVED (there were no labels before), BUSY or
 * NO_MEMORY (only on another thread). */
custom_labels_result_t custom_labels_thread_enter(custom_labels_saved_t* saved,
                                                  const custom_labels_label_t* labels, size_t n);
custom_labels_result_t custom_labels_thread_leave(const custom_labels_saved_t* saved);

/* Does the same, but this set (customlabels.h) is current in the scope, or no labels for null;
 * labels that are set within the scope come on top. Returns SET or BUSY. */
custom_labels_result_t custom_labels_thread_enter_set(custom_labels_saved_t* saved,
                                                      custom_labels_labelset_t* set);

#if defined(__cplusplus)
}
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_WRITER_H */
