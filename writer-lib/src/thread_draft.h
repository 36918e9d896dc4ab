/* A draft is the thread's next own set, from its beginning to its publication. */
#ifndef CUSTOMLABELS_SRC_THREAD_DRAFT_H
#define CUSTOMLABELS_SRC_THREAD_DRAFT_H

#include "current_set.h"

struct draft {
  struct label_block* block;
  struct block_relation relation; /* to the thread's live block */
  uint32_t trace;                 /* labels of the trace context at the start */
  bool truncated;                 /* the set it started from was cut to fit */
};

/* The two labels of a new trace context. */
struct trace_labels {
  custom_labels_label_t labels[2];
  unsigned char digits[2][CUSTOM_LABELS_THREAD_MAX_TRACE_VALUE];
};

/* Which of the current labels a draft starts with. */
enum draft_start { kAllLabels, kTraceLabels, kProgramLabels };

/* There is no key to leave out: all labels stay. */
static const custom_labels_string_t kNone = {0, NULL};

/* Begins the next own set with labels that a reader sees now, except for the one with the key
 * `without`. Another trace context (null for none) may stand in front of them, but only with
 * kProgramLabels. Returns SET, FULL or NO_MEMORY. The thread must have its memory. */
custom_labels_result_t cl_begin_draft(struct thread_state* thread, struct draft* draft,
                                      enum draft_start start, custom_labels_string_t without,
                                      const struct trace_labels* trace);

/* Makes the draft the own set and current. */
void cl_publish_draft(struct thread_state* thread, const struct draft* draft);

/* Returns the length of a string of at least `limit` bytes when it is cut there, at a UTF-8
 * character boundary. */
size_t cl_cut_length(const unsigned char* bytes, size_t limit);

/* Cuts the string, and returns true if it was longer. The two words of a descriptor are loaded one
 * by one: the caller has just stored them, and one load of both would have to wait for the stores
 * to leave the core. */
static inline bool cut_string(custom_labels_string_t* string, size_t limit) {
  if (__builtin_expect(string->len <= limit, 1)) return false;
  string->len = cl_cut_length(string->buf, limit);
  return true;
}

/* Returns whether the key belongs to the trace context. */
static inline bool is_reserved(custom_labels_string_t key) {
  if (key.len == sizeof CUSTOM_LABELS_SPAN_ID_KEY - 1)
    return memcmp(key.buf, CUSTOM_LABELS_SPAN_ID_KEY, key.len) == 0;
  if (key.len == sizeof CUSTOM_LABELS_ROOT_SPAN_ID_KEY - 1)
    return memcmp(key.buf, CUSTOM_LABELS_ROOT_SPAN_ID_KEY, key.len) == 0;
  return false;
}

/* Returns SET if the label can be set, or the reason why not. */
static inline custom_labels_result_t check_label(custom_labels_string_t key,
                                                 custom_labels_string_t value) {
  if (key.buf == NULL || key.len == 0 || !is_string(value)) return CUSTOM_LABELS_INVALID;
  return is_reserved(key) ? CUSTOM_LABELS_RESERVED : CUSTOM_LABELS_SET;
}

/* Returns how many labels of the trace context a reader sees now. */
size_t cl_shown_trace(struct thread_state* thread);

/* Fills in the two labels, which point into *trace. */
void cl_write_trace(struct trace_labels* trace, uint64_t span_id, uint64_t root_span_id);

/* Does custom_labels_thread_update or _replace within a call: sets the labels on top of those that
 * `start` names. */
custom_labels_result_t cl_update(struct thread_state* thread, enum draft_start start,
                                 const custom_labels_label_t* labels, size_t n);

#endif /* CUSTOMLABELS_SRC_THREAD_DRAFT_H */
