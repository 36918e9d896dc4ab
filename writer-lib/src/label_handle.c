/* From what a program passes as a set to labels, and from the variable back to what it passed. */
#include "label_handle.h"

#include <errno.h>

#include "bytes.h"
#include "label_set.h"
#include "thread_state.h"

const custom_labels_labelset_t* cl_labels_of(const custom_labels_labelset_t* set) {
  if (set == NULL) return NULL;
  if (is_object(set)) return set_object(set)->live;
  if (!is_thread_set(set)) return set;
  /* Another thread's, or one whose labels have been dropped: nothing can be said about those. */
  if ((const void*)set != (const void*)cl_own_thread.handle || cl_own_thread.live == NULL)
    return NULL;
  return &cl_own_thread.live->set;
}

const custom_labels_label_t* cl_find_label(const custom_labels_labelset_t* labels,
                                           custom_labels_string_t key) {
  for (size_t i = 0; labels != NULL && i < labels->count; i++) {
    const custom_labels_string_t* candidate = &labels->storage[i].key;
    if (candidate->buf != NULL && candidate->len == key.len &&
        equal_bytes(candidate->buf, key.buf, key.len))
      return &labels->storage[i];
  }
  return NULL;
}

custom_labels_labelset_t* cl_current_handle(struct thread_state* thread) {
  custom_labels_labelset_t* labels = *current_slot(thread);
  if (labels == NULL) return NULL;
  if ((const void*)labels == (const void*)thread->live) return &thread->handle->empty;
  return labels == thread->shown ? &owner_of(labels)->handle.empty : labels;
}

int cl_error_of(custom_labels_result_t result) {
  switch (result) {
    case CUSTOM_LABELS_FULL:
      return ENOSPC;
    case CUSTOM_LABELS_NO_MEMORY:
      return ENOMEM;
    case CUSTOM_LABELS_INVALID:
      return EINVAL;
    case CUSTOM_LABELS_RESERVED:
      return EPERM;
    case CUSTOM_LABELS_BUSY:
      return EBUSY;
    case CUSTOM_LABELS_ABSENT:
      return ENOENT;
    default:
      return 0;
  }
}

int cl_check_own(const custom_labels_labelset_t* set) {
  if (!is_thread_set(set)) return EINVAL;
  return set == cl_current_handle(&cl_own_thread) ? 0 : EPERM;
}

API custom_labels_labelset_t* custom_labels_current(void) {
  return cl_current_handle(&cl_own_thread);
}

API custom_labels_labelset_t* custom_labels_replace(custom_labels_labelset_t* set) {
  struct thread_state* thread = &cl_own_thread;
  const custom_labels_labelset_t* shown = thread->shown;
  /* One set object in place of another, as a scheduler does it all the time. What has been shown is
   * still current, so the slot is known. */
  if (set != NULL && is_object(set) && shown != NULL && *thread->slot == shown) {
    const custom_labels_labelset_t* labels = set_object(set)->live;
    publish(thread->slot, labels);
    thread->shown = labels;
    return &owner_of(shown)->handle.empty;
  }
  custom_labels_labelset_t* before = cl_current_handle(thread);
  install(thread, set);
  return before;
}
