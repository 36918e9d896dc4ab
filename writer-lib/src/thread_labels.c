/* These are the calls of fixed-buffer mode: they check and cut arguments, build the next own set,
 * and publish it (thread_state.h). */
#include "thread_draft.h"

/* Sets one label while the own set is current and not empty. Nothing is copied only to be
 * overwritten. */
static inline custom_labels_result_t set_in_own(struct thread_state* thread,
                                                custom_labels_string_t key,
                                                custom_labels_string_t value) {
  const bool key_cut = cut_string(&key, CUSTOM_LABELS_THREAD_MAX_KEY);
  const bool value_cut = cut_string(&value, CUSTOM_LABELS_THREAD_MAX_VALUE);
  const struct label_block* live = thread->live;
  const size_t index = block_find(live, key);
  const bool is_new = index == live->set.count;
  if (is_new && index >= thread->trace + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS)
    return CUSTOM_LABELS_FULL;
  struct label_block* block = begin_build(thread);
  block_take_with(block, live, &thread->relation, index, key, value);
  publish_own(thread, block);
  if (key_cut || value_cut) return CUSTOM_LABELS_TRUNCATED;
  return is_new ? CUSTOM_LABELS_SET : CUSTOM_LABELS_REPLACED;
}

API custom_labels_result_t custom_labels_thread_prepare(void) {
  struct thread_state* thread = this_thread();
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  const bool has = has_memory(thread);
  leave_call(thread);
  return has ? CUSTOM_LABELS_SET : CUSTOM_LABELS_NO_MEMORY;
}

/* Sets one label on top of an installed set, or the first one. */
static custom_labels_result_t set_in_other(struct thread_state* thread, custom_labels_string_t key,
                                           custom_labels_string_t value) {
  const bool was_there = cl_find_label(*current_slot(thread), key) != NULL;
  const custom_labels_label_t label = {key, value};
  const custom_labels_result_t result = cl_update(thread, kAllLabels, &label, 1);
  return result == CUSTOM_LABELS_SET && was_there ? CUSTOM_LABELS_REPLACED : result;
}

API custom_labels_result_t custom_labels_thread_set(const void* key, size_t key_len,
                                                    const void* value, size_t value_len) {
  struct thread_state* thread = this_thread();
  const custom_labels_string_t key_string = {key_len, key};
  const custom_labels_string_t value_string = {value_len, value};
  custom_labels_result_t result = check_label(key_string, value_string);
  if (result != CUSTOM_LABELS_SET) return result;
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  if (thread->live != NULL && own_is_current(thread))
    result = set_in_own(thread, key_string, value_string);
  else
    result = set_in_other(thread, key_string, value_string);
  leave_call(thread);
  return result;
}

static custom_labels_result_t update(enum draft_start start, const custom_labels_label_t* labels,
                                     size_t n) {
  struct thread_state* thread = this_thread();
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  const custom_labels_result_t result = cl_update(thread, start, labels, n);
  leave_call(thread);
  return result;
}

API custom_labels_result_t custom_labels_thread_update(const custom_labels_label_t* labels,
                                                       size_t n) {
  return n == 0 ? CUSTOM_LABELS_SET : update(kAllLabels, labels, n);
}

API custom_labels_result_t custom_labels_thread_replace(const custom_labels_label_t* labels,
                                                        size_t n) {
  return n == 0 ? custom_labels_thread_clear() : update(kTraceLabels, labels, n);
}

/* Publishes the current labels that `start` names, without one of them or behind another trace
 * context. The result is `done` if nothing had to be cut. */
static custom_labels_result_t rebuild(struct thread_state* thread, enum draft_start start,
                                      custom_labels_string_t without,
                                      const struct trace_labels* trace,
                                      custom_labels_result_t done) {
  if (!has_memory(thread)) return CUSTOM_LABELS_NO_MEMORY;
  struct draft draft;
  const custom_labels_result_t result = cl_begin_draft(thread, &draft, start, without, trace);
  if (result < 0) return result;
  cl_publish_draft(thread, &draft);
  return draft.truncated ? CUSTOM_LABELS_TRUNCATED : done;
}

static custom_labels_result_t keep(struct thread_state* thread, enum draft_start start,
                                   custom_labels_string_t without) {
  return rebuild(thread, start, without, NULL, CUSTOM_LABELS_REMOVED);
}

API custom_labels_result_t custom_labels_thread_remove(const void* key, size_t key_len) {
  struct thread_state* thread = this_thread();
  custom_labels_string_t cut = {key_len, key};
  if (key == NULL || key_len == 0) return CUSTOM_LABELS_INVALID;
  if (is_reserved(cut)) return CUSTOM_LABELS_RESERVED;
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  cut_string(&cut, CUSTOM_LABELS_THREAD_MAX_KEY);
  custom_labels_result_t result = CUSTOM_LABELS_ABSENT;
  if (cl_find_label(*current_slot(thread), cut) != NULL) result = keep(thread, kAllLabels, cut);
  leave_call(thread);
  return result;
}

static void clear_all(struct thread_state* thread) {
  if (own_is_current(thread)) return publish_own(thread, NULL);
  publish(thread->slot, NULL);
  thread->shown = NULL;
}

API custom_labels_result_t custom_labels_thread_clear(void) {
  struct thread_state* thread = this_thread();
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  const custom_labels_labelset_t* labels = *current_slot(thread);
  const size_t trace = cl_shown_trace(thread);
  custom_labels_result_t result = CUSTOM_LABELS_REMOVED;
  if (labels == NULL || labels->count <= trace) {
    result = CUSTOM_LABELS_ABSENT;
  } else if (trace > 0) {
    result = keep(thread, kTraceLabels, kNone);
  } else {
    clear_all(thread);
  }
  leave_call(thread);
  return result;
}

API custom_labels_result_t custom_labels_thread_set_trace(uint64_t span_id, uint64_t root_span_id) {
  struct thread_state* thread = this_thread();
  struct trace_labels trace;
  cl_write_trace(&trace, span_id, root_span_id);
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  const bool was_there = cl_shown_trace(thread) > 0;
  const custom_labels_result_t result =
      rebuild(thread, kProgramLabels, kNone, &trace,
              was_there ? CUSTOM_LABELS_REPLACED : CUSTOM_LABELS_SET);
  leave_call(thread);
  return result;
}

API custom_labels_result_t custom_labels_thread_clear_trace(void) {
  struct thread_state* thread = this_thread();
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  custom_labels_result_t result = CUSTOM_LABELS_ABSENT;
  if (cl_shown_trace(thread) > 0) result = keep(thread, kProgramLabels, kNone);
  leave_call(thread);
  return result;
}
