/* This file builds the thread's next own set, from the own set or, when another one is installed,
 * from that. */
#include "thread_draft.h"

static const custom_labels_string_t kSpanId = {sizeof CUSTOM_LABELS_SPAN_ID_KEY - 1,
                                               (const unsigned char*)CUSTOM_LABELS_SPAN_ID_KEY};
static const custom_labels_string_t kRootSpanId = {
    sizeof CUSTOM_LABELS_ROOT_SPAN_ID_KEY - 1,
    (const unsigned char*)CUSTOM_LABELS_ROOT_SPAN_ID_KEY};

static bool same_string(custom_labels_string_t a, custom_labels_string_t b) {
  return a.len == b.len && equal_bytes(a.buf, b.buf, a.len);
}

size_t cl_shown_trace(struct thread_state* thread) {
  const custom_labels_labelset_t* labels = *current_slot(thread);
  if (labels == NULL) return 0;
  if (own_is_current(thread)) return thread->trace;
  return (cl_find_label(labels, kSpanId) != NULL) + (cl_find_label(labels, kRootSpanId) != NULL);
}

static size_t count_digits(uint64_t number) {
  size_t digits = 1;
  /* 10^19 is the last power of ten that fits. */
  for (uint64_t power = 10; digits < CUSTOM_LABELS_THREAD_MAX_TRACE_VALUE && number >= power;
       power *= 10)
    digits++;
  return digits;
}

/* Writes unsigned decimal, at most 20 digits. It writes two at a time, since each step waits for a
 * division. */
static size_t write_decimal(unsigned char* to, uint64_t number) {
  const size_t digits = count_digits(number);
  size_t end = digits;
  for (; end >= 2; number /= 100) {
    const unsigned rest = (unsigned)(number % 100);
    to[--end] = (unsigned char)('0' + rest % 10);
    to[--end] = (unsigned char)('0' + rest / 10);
  }
  if (end == 1) to[0] = (unsigned char)('0' + number);
  return digits;
}

void cl_write_trace(struct trace_labels* trace, uint64_t span_id, uint64_t root_span_id) {
  trace->labels[0].key = kSpanId;
  trace->labels[0].value.len = write_decimal(trace->digits[0], span_id);
  trace->labels[0].value.buf = trace->digits[0];
  trace->labels[1].key = kRootSpanId;
  trace->labels[1].value.len = write_decimal(trace->digits[1], root_span_id);
  trace->labels[1].value.buf = trace->digits[1];
}

/* Returns the length of the UTF-8 sequence that this byte leads, 1 for a byte that leads none. */
static size_t utf8_length(unsigned char lead) {
  if (lead >= 0xf0 && lead < 0xf8) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xc0 && lead < 0xe0) return 2;
  return 1;
}

size_t cl_cut_length(const unsigned char* bytes, size_t limit) {
  /* At most the last three bytes that stay can be the head of a character whose rest is cut off. */
  for (size_t back = 1; back <= 3; back++) {
    const unsigned char byte = bytes[limit - back];
    if ((byte & 0xc0) == 0x80) continue;
    return utf8_length(byte) > back ? limit - back : limit;
  }
  return limit;
}

static void import_trace_label(struct draft* draft, const custom_labels_labelset_t* from,
                               custom_labels_string_t key) {
  const custom_labels_label_t* label = cl_find_label(from, key);
  if (label == NULL) return;
  custom_labels_string_t value = label->value;
  draft->truncated |= cut_string(&value, CUSTOM_LABELS_THREAD_MAX_TRACE_VALUE);
  block_append(draft->block, key, value);
  draft->trace++;
}

static custom_labels_result_t import_program_label(struct draft* draft,
                                                   const custom_labels_labelset_t* from,
                                                   const custom_labels_label_t* label,
                                                   custom_labels_string_t without) {
  custom_labels_string_t key = label->key;
  custom_labels_string_t value = label->value;
  /* The first of equal keys counts; the own set has no empty keys. */
  if (key.buf == NULL || is_reserved(key) || cl_find_label(from, key) != label)
    return CUSTOM_LABELS_SET;
  draft->truncated |= cut_string(&key, CUSTOM_LABELS_THREAD_MAX_KEY);
  draft->truncated |= cut_string(&value, CUSTOM_LABELS_THREAD_MAX_VALUE);
  if (without.buf != NULL && same_string(key, without)) return CUSTOM_LABELS_SET;
  if (key.len == 0) {
    draft->truncated = true;
    return CUSTOM_LABELS_SET;
  }
  const size_t limit = draft->trace + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS;
  return block_put(draft->block, &draft->relation, key, value, limit) == kBlockFull
             ? CUSTOM_LABELS_FULL
             : CUSTOM_LABELS_SET;
}

/* Begins with the labels of a set that is not the thread's own. */
static custom_labels_result_t import(struct draft* draft, const custom_labels_labelset_t* from,
                                     enum draft_start start, custom_labels_string_t without) {
  if (from == NULL) return CUSTOM_LABELS_SET;
  if (start != kProgramLabels) {
    import_trace_label(draft, from, kSpanId);
    import_trace_label(draft, from, kRootSpanId);
  }
  for (size_t i = 0; start != kTraceLabels && i < from->count; i++) {
    if (import_program_label(draft, from, &from->storage[i], without) == CUSTOM_LABELS_FULL)
      return CUSTOM_LABELS_FULL;
  }
  return CUSTOM_LABELS_SET;
}

/* Begins with the labels of the own set. */
static void take(struct thread_state* thread, struct draft* draft, enum draft_start start,
                 custom_labels_string_t without) {
  const struct label_block* from = thread->live;
  if (start == kProgramLabels) return cl_block_append_labels(draft->block, from, thread->trace);
  draft->trace = thread->trace;
  draft->relation = thread->relation;
  if (start == kTraceLabels) {
    cl_block_take(draft->block, from, &draft->relation, thread->trace);
  } else if (without.buf == NULL) {
    cl_block_take(draft->block, from, &draft->relation, from->set.count);
  } else {
    cl_block_take_without(draft->block, from, &draft->relation, block_find(from, without));
  }
}

custom_labels_result_t cl_begin_draft(struct thread_state* thread, struct draft* draft,
                                      enum draft_start start, custom_labels_string_t without,
                                      const struct trace_labels* trace) {
  custom_labels_result_t result = CUSTOM_LABELS_SET;
  *draft = (struct draft){.block = begin_build(thread)};
  draft->block->set.count = 0;
  for (; trace != NULL && draft->trace < 2; draft->trace++) {
    const custom_labels_label_t* label = &trace->labels[draft->trace];
    block_append(draft->block, label->key, label->value);
  }
  if (own_is_current(thread) && thread->live != NULL)
    take(thread, draft, start, without);
  else
    result = import(draft, *thread->slot, start, without);
  /* Nothing is known about a block that is never finished. */
  thread->relation = kUnrelated;
  return result;
}

void cl_publish_draft(struct thread_state* thread, const struct draft* draft) {
  if (!own_is_current(thread)) cl_replace_handle(thread);
  thread->trace = draft->trace;
  thread->relation = draft->relation;
  publish_own(thread, draft->block->set.count == 0 ? NULL : draft->block);
}

/* Puts labels into a block that is being built. SET, TRUNCATED, FULL, INVALID, RESERVED. */
static inline custom_labels_result_t put_labels(struct label_block* block,
                                                struct block_relation* relation,
                                                const custom_labels_label_t* labels, size_t n,
                                                size_t limit) {
  bool cut = false;
  for (size_t i = 0; i < n; i++) {
    custom_labels_string_t key = {labels[i].key.len, labels[i].key.buf};
    custom_labels_string_t value = {labels[i].value.len, labels[i].value.buf};
    const custom_labels_result_t refused = check_label(key, value);
    if (refused != CUSTOM_LABELS_SET) return refused;
    cut |= cut_string(&key, CUSTOM_LABELS_THREAD_MAX_KEY);
    cut |= cut_string(&value, CUSTOM_LABELS_THREAD_MAX_VALUE);
    if (block_put(block, relation, key, value, limit) == kBlockFull) return CUSTOM_LABELS_FULL;
  }
  return cut ? CUSTOM_LABELS_TRUNCATED : CUSTOM_LABELS_SET;
}

/* Sets labels on top of an installed set, or of nothing. */
static custom_labels_result_t update_other(struct thread_state* thread, enum draft_start start,
                                           const custom_labels_label_t* labels, size_t n) {
  struct draft draft;
  if (!has_memory(thread)) return CUSTOM_LABELS_NO_MEMORY;
  custom_labels_result_t result = cl_begin_draft(thread, &draft, start, kNone, NULL);
  if (result < 0) return result;
  result = put_labels(draft.block, &draft.relation, labels, n,
                      draft.trace + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS);
  if (result < 0) return result;
  cl_publish_draft(thread, &draft);
  return draft.truncated ? CUSTOM_LABELS_TRUNCATED : result;
}

custom_labels_result_t cl_update(struct thread_state* thread, enum draft_start start,
                                 const custom_labels_label_t* labels, size_t n) {
  const struct label_block* from = thread->live;
  if (labels == NULL) return CUSTOM_LABELS_INVALID;
  if (thread->blocks == NULL || !own_is_current(thread))
    return update_other(thread, start, labels, n);
  struct label_block* block = begin_build(thread);
  if (from == NULL) {
    thread->trace = 0;
    thread->relation = kUnrelated;
    block->set.count = 0;
  } else {
    cl_block_take(block, from, &thread->relation,
                  start == kTraceLabels ? thread->trace : from->set.count);
  }
  const custom_labels_result_t result = put_labels(
      block, &thread->relation, labels, n, thread->trace + CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS);
  if (result >= 0)
    publish_own(thread, block);
  else
    thread->relation = kUnrelated;
  return result;
}
