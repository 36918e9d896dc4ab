// The code that the writer benchmark compares with. It is no product: it handles no hostile input,
// and no error but "no memory".
//
// push_* use the algorithm of the existing public writer for ABI v1. A set is an array of labels
// with strings of their own. To replace a value it allocates copies of key and value, pushes them
// as a new label (the array doubles when it is full), and deletes the old one by moving the last
// over it, in an order that keeps the set readable. To run with labels it sets them one by one,
// keeps copies of the old values, and then sets those again.
//
// bare_store is one store to a thread-local pointer through a TLS descriptor, in a library of its
// own. That is the least that publishing anything can cost.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): C reads this, too

#include "customlabels/label_abi.h"

#if defined(__cplusplus)
extern "C" {
#endif

custom_labels_labelset_t* push_new(size_t capacity);
// The set must not be current.
void push_free(custom_labels_labelset_t* set);
// Returns the set of the calling thread.
custom_labels_labelset_t* push_current(void);
custom_labels_labelset_t* push_replace(custom_labels_labelset_t* set);
// Returns 0 or ENOMEM. `old_value`, if not null, gets a copy that the caller frees, or a null buf.
int push_set(custom_labels_labelset_t* set, custom_labels_string_t key,
             custom_labels_string_t value, custom_labels_string_t* old_value);
void push_delete(custom_labels_labelset_t* set, custom_labels_string_t key);
int push_run_with(custom_labels_labelset_t* set, const custom_labels_label_t* labels, size_t n,
                  void* (*callback)(void*), void* argument, void** out);

void bare_store(void* value);

#if defined(__cplusplus)
}
#endif
