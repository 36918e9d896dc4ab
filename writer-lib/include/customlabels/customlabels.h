/* This is the C API of libcustomlabels in label-set mode: sets of any size as objects, for programs
 * that keep a set for each request, coroutine or fiber and install it where that runs. The first
 * part has the names and meanings of the existing C API for ABI v1, so that a program written for
 * it compiles with this header (with this folder among its include directories, as pkg-config and
 * the CMake target put it); the second part adds what that API lacks. One kind of program does not
 * compile: one that stores to custom_labels_current_set itself; call custom_labels_replace instead.
 * An executable that was compiled with another header and does so must be compiled again; others
 * run unchanged.
 *
 * What a set is. The pointer is a handle: pass it to the functions here, and do not look inside. A
 * reader does not get the handle but the set's labels, which lie in one block of memory somewhere
 * else. A change builds a new block and gives it to the set with one store; if the set is current
 * on the calling thread, that store is to custom_labels_current_set. So the guarantee of
 * customlabels/writer.h holds here, for the same readers: a reader that interrupts the thread sees
 * the labels from before the call or from after it. There is no need for "careful" functions beside
 * plain ones; both names exist and do the same.
 *
 * Threads. A set may be current on any number of threads while no thread changes or frees it. As
 * with any object that is not locked, a set may be changed only while no other thread uses it or
 * has it current. Reading one (get, count, at, clone, debug_string) may happen on many threads at
 * once.
 *
 * Both modes on one thread. There is one current set. The custom_labels_thread_* calls make a set
 * of the thread's own. While it is current, custom_labels_current returns a handle for it, which
 * works in all functions here: changes go to custom_labels_thread_*, with their limits; free does
 * nothing; replace makes its labels current again. The handle may be used on its own thread alone,
 * and until that thread ends. A custom_labels_thread_* call while another set is installed (or
 * after custom_labels_replace has put no set in place of the own one) publishes a copy of that
 * set's labels with the change; what the thread's own set held before is gone then, and its old
 * handle stands for an empty set. This holds until the next such call: a thread has two handles,
 * which take turns, so a handle that is older still may stand for newer labels and must not be used
 * any more. A handle that was taken within a scope must not be used after the scope has been left.
 * Where the own set must come back, use scopes: custom_labels_thread_enter,
 * custom_labels_thread_enter_set; scopes have no such limit.
 *
 * custom_labels_current_set, as a program reads it, leads to the labels themselves, by the ABI, and
 * not to the handle: it holds until the next change. The functions here take it for the set that is
 * current on the calling thread.
 *
 * A custom_labels_labelset_t that a program has built itself by ABI v1 may be installed, read and
 * cloned; changing it is refused with EINVAL.
 *
 * Arguments. Any bytes of any length make a key or a value; a key of length 0 is a key. A null
 * pointer is an empty value if its length is 0; a null key is EINVAL. Functions that change a set
 * return 0, or EINVAL, or ENOMEM (also for lengths whose sum no memory could hold), or an error of
 * the thread's own set: ENOSPC (eight labels of the program), EPERM (a key of the trace context, or
 * the own set of another thread, or one that is not current), EBUSY (in a handler that interrupted
 * another call), ENOENT (custom_labels_remove: no such key). After an error nothing has changed.
 * Arguments may lie in the set that is being changed.
 *
 * Signal handlers. The calls custom_labels_current, _get, _count and _at are safe; they see a set
 * before or after the change that they interrupt. custom_labels_replace is safe, if what it found
 * is current again before the handler returns. The others are not: they allocate. A handler that
 * changes the thread's own set more than once moves its labels, in a scope too: what
 * custom_labels_get or _at returned for that set before is not valid any more. */
#ifndef CUSTOMLABELS_CUSTOMLABELS_H
#define CUSTOMLABELS_CUSTOMLABELS_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include "customlabels/writer.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A program may read the variable but not write it: a handle that is stored to it shows no labels.
 */
static inline custom_labels_labelset_t* custom_labels_published(void) {
  return custom_labels_current_set;
}
#define custom_labels_current_set custom_labels_published()

/* Returns a new empty set with room for `capacity` labels (it grows beyond), or null without
 * memory. The caller frees it. */
custom_labels_labelset_t* custom_labels_new(size_t capacity);

/* Frees a set. If it is current on the calling thread, the thread has no labels from then on; on
 * another thread it must not be current. Null is allowed. */
void custom_labels_free(custom_labels_labelset_t* set);

/* Returns the set that is current on this thread, or null. */
custom_labels_labelset_t* custom_labels_current(void);

/* Makes a set current, or none (null). Returns the set that was current, or null. It is one store
 * and allocates nothing. */
custom_labels_labelset_t* custom_labels_replace(custom_labels_labelset_t* set);

/* Returns a copy that shares nothing with the original, or null for null and without memory. The
 * copy has room for `capacity` labels, and at least for those that it has. */
custom_labels_labelset_t* custom_labels_clone(const custom_labels_labelset_t* set);
custom_labels_labelset_t* custom_labels_clone_with_capacity(const custom_labels_labelset_t* set,
                                                            size_t capacity);

/* Returns the number of labels, 0 for null. */
size_t custom_labels_count(custom_labels_labelset_t* set);

/* Returns the label with this key, or null. It is valid until the set is changed or freed. */
const custom_labels_label_t* custom_labels_get(custom_labels_labelset_t* set,
                                               custom_labels_string_t key);

/* Adds the key or replaces its value. If old_value_out is not null, it receives a copy of the value
 * from before, whose buf the caller frees with free(), or a null buf if there was none. */
int custom_labels_set(custom_labels_labelset_t* set, custom_labels_string_t key,
                      custom_labels_string_t value, custom_labels_string_t* old_value_out);

/* Removes the key, if it is there. A set that is current on this thread needs memory for that,
 * because the new labels are built beside the old ones. Without memory nothing happens;
 * custom_labels_remove reports that. */
void custom_labels_delete(custom_labels_labelset_t* set, custom_labels_string_t key);

/* Sets n labels in one publication, calls callback(data), and puts back, in one publication, what
 * these keys had before: their values, or their absence. What the callback does to other keys
 * stays, as does a set that it makes current; but on the thread's own set it is a scope: everything
 * from before comes back. The callback's result goes to *out if out is not null. It may throw C++
 * exceptions, cancel or end the thread (not longjmp, and no exception of a signal handler with a
 * stack of its own): the labels are put back all the same. It must not free the set. If the
 * function does not return 0, the callback has not been called. If the callback changed other keys
 * and there is no memory to keep that, the set is as it was before the call. */
int custom_labels_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels, int n,
                           void* (*callback)(void*), void* data, void** out);

/* Writes "{key: value, key2: value2}" without escapes or a terminating zero. The caller frees
 * out->buf with free(). Returns 0, EINVAL or ENOMEM. */
int custom_labels_debug_string(const custom_labels_labelset_t* set, custom_labels_string_t* out);

/* These are the same functions by other names. */
int custom_labels_careful_set(custom_labels_labelset_t* set, custom_labels_string_t key,
                              custom_labels_string_t value, custom_labels_string_t* old_value_out);
void custom_labels_careful_delete(custom_labels_labelset_t* set, custom_labels_string_t key);
int custom_labels_careful_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels,
                                   int n, void* (*callback)(void*), void* data, void** out);

/* ---- beyond the existing API ---- */

/* Sets n labels as if each were set in turn, but either all or none, and in one publication. */
int custom_labels_update(custom_labels_labelset_t* set, const custom_labels_label_t* labels,
                         size_t n);

/* Does the same as custom_labels_delete and returns what happened: 0, ENOENT (the key was not
 * there), EINVAL, ENOMEM, ... */
int custom_labels_remove(custom_labels_labelset_t* set, custom_labels_string_t key);

/* Removes all labels, from the thread's own set also the trace context. It never fails on a set
 * that custom_labels_new or _clone made. */
int custom_labels_clear(custom_labels_labelset_t* set);

/* Returns the label at an index below custom_labels_count, in no order, or null beyond. It is valid
 * until the set is changed or freed. */
const custom_labels_label_t* custom_labels_at(const custom_labels_labelset_t* set, size_t index);

#if defined(__cplusplus)
}
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_CUSTOMLABELS_H */
