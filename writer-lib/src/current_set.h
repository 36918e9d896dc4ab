/* From what a program passes as a set to labels, and from the variable back to what it passed. The
 * one place that knows both kinds of handles: set objects and the thread's own set. */
#ifndef CUSTOMLABELS_SRC_CURRENT_SET_H
#define CUSTOMLABELS_SRC_CURRENT_SET_H

#include "label_set.h"
#include "thread_state.h"

/* The labels of a handle or of a set by the ABI: what is published when it is installed; null for
 * null and for a thread's own set without labels. */
const custom_labels_labelset_t* cl_labels_of(const custom_labels_labelset_t* set);

/* The set object that is meant, or null; *set becomes its handle where it is the variable's value.
 */
struct label_set* cl_object_of(custom_labels_labelset_t** set);

/* The handle of what is current; a set that is not ours is its own. */
custom_labels_labelset_t* cl_current_handle(struct thread_state* thread);

/* Publishes what the handle stands for. The slot first: a signal handler that comes between takes
 * the set for one that is not ours, which it can read and put back. */
static inline void install(struct thread_state* thread, const custom_labels_labelset_t* set) {
  const struct label_set* object = set == NULL ? NULL : set_object(set);
  const custom_labels_labelset_t* labels = object == NULL ? cl_labels_of(set) : object->live;
  publish(current_slot(thread), labels);
  thread->shown = object == NULL ? NULL : labels;
}

/* 0 if this is the handle of the calling thread's own set and that is current, so that fixed-buffer
 * calls change what it stands for; else why it cannot be changed. */
int cl_check_own(const custom_labels_labelset_t* set);

/* A result of fixed-buffer mode in the words of label-set mode. */
int cl_error_of(custom_labels_result_t result);

#endif /* CUSTOMLABELS_SRC_CURRENT_SET_H */
