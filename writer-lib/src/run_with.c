/* This file sets labels for the time of a callback, on a set object or on the thread's own set.
 *
 * The set's labels from before stay whole in their block while the callback runs; a change within
 * it builds in yet another block. If there was no such change, putting back is one store of the old
 * block's address. If there was one, the new labels are those that the callback left, with the old
 * block's values for these keys. The file is compiled with -fexceptions, so that the cleanup also
 * runs when the callback throws or ends the thread. */
#include <errno.h>
#include <stdlib.h>

#include "current_set.h"

struct run {
  struct label_set* set;
  const custom_labels_label_t* labels;
  size_t n;
  struct set_block* before; /* null if there were no labels */
  struct block_relation relation;
  const custom_labels_labelset_t* live; /* what the callback started with */
  uint64_t changes_before;
  uint64_t changes;
};

/* Builds what the callback left, with the values from before for the keys of this run. Returns
 * false without memory. */
static bool merge(const struct run* run) {
  struct label_set* set = run->set;
  const struct set_block* live = live_block(set);
  const custom_labels_labelset_t* before = run->before == NULL ? NULL : &run->before->block.set;
  /* This is enough room for all that comes back: its keys and values are in the block from before.
   */
  const size_t count = (live == NULL ? 0 : live->block.set.count) + run->n;
  const size_t bytes = (live == NULL ? 0 : block_bytes(&live->block)) +
                       (run->before == NULL ? 0 : block_bytes(&run->before->block));
  struct block_relation relation;
  struct set_block* to = cl_set_take_spare(set, count, bytes, &relation);
  if (to == NULL) return false;
  to->block.set.count = 0;
  if (live != NULL) cl_block_take(&to->block, &live->block, &relation, live->block.set.count);
  for (size_t i = 0; i < run->n; i++) {
    const custom_labels_label_t* old = cl_find_label(before, run->labels[i].key);
    if (old != NULL) {
      block_put(&to->block, &relation, old->key, old->value, SIZE_MAX);
      continue;
    }
    const size_t index = block_find(&to->block, run->labels[i].key);
    if (index < to->block.set.count) cl_block_drop(&to->block, &relation, index);
  }
  cl_set_switch(set, to, relation, true);
  return true;
}

static void put_back(struct run* run) {
  struct label_set* set = run->set;
  const bool untouched = set->live == run->live && set->changes == run->changes;
  if (!untouched && merge(run)) {
    free(run->before);
    return;
  }
  /* Nothing is known about a block that the callback has changed. */
  cl_set_switch(set, run->before, untouched ? run->relation : kUnrelated, true);
  /* For a run around this one, nothing has changed. */
  if (untouched) set->changes = run->changes_before;
}

static int run_with_set(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                        void* (*callback)(void*), void* data, void** out) {
  struct set_block* before = NULL;
  const uint64_t changes_before = set->changes;
  const int error = cl_set_update_beside(set, labels, n, &before);
  if (error != 0) return error;
  __attribute__((cleanup(put_back), unused)) struct run run = {
      .set = set,
      .labels = labels,
      .n = n,
      .before = before,
      .relation = set->relation,
      .live = set->live,
      .changes_before = changes_before,
      .changes = set->changes,
  };
  void* result = callback(data);
  if (out != NULL) *out = result;
  return 0;
}

static void leave_scope(custom_labels_saved_t* saved) { (void)custom_labels_thread_leave(saved); }

static int run_with_own(const custom_labels_label_t* labels, size_t n, void* (*callback)(void*),
                        void* data, void** out) {
  __attribute__((cleanup(leave_scope))) custom_labels_saved_t saved;
  const int error = cl_error_of(custom_labels_thread_enter(&saved, labels, n));
  if (error != 0) return error;
  void* result = callback(data);
  if (out != NULL) *out = result;
  return 0;
}

API int custom_labels_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels, int n,
                               void* (*callback)(void*), void* data, void** out) {
  if (set == NULL || callback == NULL || n < 0 || (labels == NULL && n > 0)) return EINVAL;
  struct label_set* object = cl_object_of(&set);
  if (object != NULL) return run_with_set(object, labels, (size_t)n, callback, data, out);
  const int refused = cl_check_own(set);
  return refused != 0 ? refused : run_with_own(labels, (size_t)n, callback, data, out);
}

API int custom_labels_careful_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels,
                                       int n, void* (*callback)(void*), void* data, void** out) {
  return custom_labels_run_with(set, labels, n, callback, data, out);
}
