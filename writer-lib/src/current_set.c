#include "current_set.h"

#include <errno.h>

const custom_labels_labelset_t* cl_labels_of(const custom_labels_labelset_t* set) {
  if (set == NULL) return NULL;
  if (is_object(set)) return set_object(set)->live;
  if (!is_thread_set(set)) return set;
  /* This is a handle of another thread, or one whose labels have been dropped, so its labels are
   * not known. */
  const struct thread_state* thread = this_thread();
  if ((const void*)set != (const void*)thread->handle || thread->live == NULL) return NULL;
  return &thread->live->set;
}

static custom_labels_labelset_t* current_handle(struct thread_state* thread) {
  custom_labels_labelset_t* labels = *current_slot(thread);
  if (labels == NULL) return NULL;
  if ((const void*)labels == (const void*)thread->live) return &thread->handle->empty;
  return labels == thread->shown ? &owner_of(labels)->handle.empty : labels;
}

custom_labels_labelset_t* cl_current_handle(struct thread_state* thread) {
  const bool held = hold_own(thread);
  custom_labels_labelset_t* handle = current_handle(thread);
  release_own(thread, held);
  return handle;
}

/* A handle is recognized by its storage pointer, which points into the handle itself. Any other set
 * is the published one only if the variable points to it. */
static custom_labels_labelset_t* handle_of(struct thread_state* thread,
                                           custom_labels_labelset_t* set) {
  if (set == NULL || is_object(set) || is_thread_set(set)) return set;
  return set == *current_slot(thread) ? cl_current_handle(thread) : set;
}

struct label_set* cl_object_of(custom_labels_labelset_t** set) {
  *set = handle_of(this_thread(), *set);
  return set_object(*set);
}

int cl_error_of(custom_labels_result_t result) {
  static const int kErrors[] = {[-CUSTOM_LABELS_FULL] = ENOSPC,
                                [-CUSTOM_LABELS_NO_MEMORY] = ENOMEM,
                                [-CUSTOM_LABELS_INVALID] = EINVAL,
                                [-CUSTOM_LABELS_RESERVED] = EPERM,
                                [-CUSTOM_LABELS_BUSY] = EBUSY};
  if (result < 0) return kErrors[-result];
  return result == CUSTOM_LABELS_ABSENT ? ENOENT : 0;
}

int cl_check_own(const custom_labels_labelset_t* set) {
  if (!is_thread_set(set)) return EINVAL;
  return set == cl_current_handle(this_thread()) ? 0 : EPERM;
}

API custom_labels_labelset_t* custom_labels_current(void) {
  return cl_current_handle(this_thread());
}

static __attribute__((noinline)) custom_labels_labelset_t* replace_any(
    struct thread_state* thread, custom_labels_labelset_t* set) {
  const bool held = hold_own(thread);
  custom_labels_labelset_t* before = cl_current_handle(thread);
  install(thread, handle_of(thread, set));
  release_own(thread, held);
  return before;
}

/* The fast path is that one set object replaces another, as in schedulers at every switch. It has
 * some twenty instructions, so that a jump to them, or a second line of the cache to fetch, is a
 * part of the cost that can be seen: they come first, at the start of a line. */
API __attribute__((aligned(64))) custom_labels_labelset_t* custom_labels_replace(
    custom_labels_labelset_t* set) {
  struct thread_state* thread = this_thread();
  const custom_labels_labelset_t* shown = thread->shown;
  const bool other = set == NULL || !is_object(set) || shown == NULL || *thread->slot != shown;
  if (__builtin_expect(other, 0)) return replace_any(thread, set);
  const custom_labels_labelset_t* labels = set_object(set)->live;
  publish(thread->slot, labels);
  thread->shown = labels;
  return &owner_of(shown)->handle.empty;
}
