/* These functions go from the set that a program passes to its labels, and from the variable back
 * to the set. Only this file knows both kinds of handles: set objects and the thread's own set. */
#ifndef CUSTOMLABELS_SRC_CURRENT_SET_H
#define CUSTOMLABELS_SRC_CURRENT_SET_H

#include "label_set.h"
#include "thread_state.h"

/* Returns the labels of a handle or of a set by the ABI, which are published when it is installed.
 * They are null for null and for a thread's own set without labels. */
const custom_labels_labelset_t* cl_labels_of(const custom_labels_labelset_t* set);

/* Returns the set object behind *set (not null), or null. If *set is the variable's value, it
 * becomes the handle. */
struct label_set* cl_object_of(custom_labels_labelset_t** set);
static inline struct label_set* object_of(custom_labels_labelset_t** set) {
  struct label_set* object = set_object(*set);
  return __builtin_expect(object != NULL, 1) ? object : cl_object_of(set);
}

/* Returns the handle of the current set; a set that this library did not make is its own handle. */
custom_labels_labelset_t* cl_current_handle(struct thread_state* thread);

/* Publishes the labels of the handle. The slot is stored first: a signal handler that comes in
 * between takes the set for one that this library did not make, which it can read and put back. */
static inline void install(struct thread_state* thread, const custom_labels_labelset_t* set) {
  const struct label_set* object = set == NULL ? NULL : set_object(set);
  const custom_labels_labelset_t* labels = object == NULL ? cl_labels_of(set) : object->live;
  publish(current_slot(thread), labels);
  thread->shown = object == NULL ? NULL : labels;
}

/* Returns 0 if this is the handle of the calling thread's own set and that set is current, so that
 * fixed-buffer calls change it; else the reason why it cannot be changed. */
int cl_check_own(const custom_labels_labelset_t* set);

/* Returns the error number of label-set mode for a result of fixed-buffer mode. */
int cl_error_of(custom_labels_result_t result);

#endif /* CUSTOMLABELS_SRC_CURRENT_SET_H */
