/* This file writes the 64-byte trace context of a thread, in this order:
 *
 *   store checksum 0        from here on a reader ignores the record
 *   store the fields
 *   store the new checksum  from here on a reader accepts it
 *
 * Which readers need this order. A reader that interrupts the thread (signal handler, ptrace, BPF
 * on the same CPU) sees every store before the point of interruption and none after it, on x86-64
 * and on aarch64 alike: an exception does not reorder a CPU's own stores as that same CPU sees
 * them. For such a reader, only the compiler must keep the order. Another CPU that copies the
 * record while the thread runs on may see stores in another order on aarch64; there, each release
 * store comes after all that were stored before it, which makes the whole write one sequence for
 * that CPU too. No full barrier is needed at the end: it would order this write against later
 * loads, and no reader depends on those.
 *
 * Why the checksum detects a mixture of two records. It is hash(span) ^ hash(swapped root), and
 * multiplying by an odd constant maps 64-bit numbers one to one. So a record with the new span, the
 * old root and the old checksum fits only if both spans hash alike, that is, are equal; likewise
 * with the new checksum. The checksum never fits a mixture of two consecutive records. (There is
 * one exception: a hash of 0 is stored as all ones, so two IDs in 2^64 share a checksum.) */
#include "customlabels/thread_context.h"

#define API __attribute__((visibility("default")))

API __thread thread_context_record_t context_tls_v1;

/* This is 2^64 divided by the golden ratio, made odd. */
static const uint64_t kMultiplier = 0x9E3779B97F4A7C15U;

API uint64_t thread_context_checksum(uint64_t span_id, uint64_t root_span_id) {
  const uint64_t swapped = root_span_id << 32 | root_span_id >> 32;
  const uint64_t hash = span_id * kMultiplier ^ swapped * kMultiplier;
  return hash == 0 ? UINT64_MAX : hash;
}

/* Does steps 1 and 2 of a write; the caller's next store to the checksum ends it. */
static void begin_write(thread_context_record_t* record, uint64_t span_id, uint64_t root_span_id) {
  __atomic_store_n(&record->checksum, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&record->span_id, span_id, __ATOMIC_RELEASE);
  __atomic_store_n(&record->root_span_id, root_span_id, __ATOMIC_RELEASE);
}

/* Writes `count` tags; the others become 0. */
static void write_tags(thread_context_record_t* record, const uint32_t* tags, size_t count) {
  for (size_t i = 0; i < THREAD_CONTEXT_TAGS; i++)
    __atomic_store_n(&record->tags[i], i < count ? tags[i] : 0, __ATOMIC_RELEASE);
}

static void end_write(thread_context_record_t* record, uint64_t checksum) {
  __atomic_store_n(&record->checksum, checksum, __ATOMIC_RELEASE);
  /* Whatever the program does under the new context comes after it, for the compiler too. */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

API const thread_context_record_t* thread_context_record(void) { return &context_tls_v1; }

API void thread_context_put(uint64_t span_id, uint64_t root_span_id) {
  thread_context_record_t* record = &context_tls_v1;
  begin_write(record, span_id, root_span_id);
  end_write(record, thread_context_checksum(span_id, root_span_id));
}

API bool thread_context_put_all(uint64_t span_id, uint64_t root_span_id, const uint32_t* tags,
                                size_t count) {
  if (count > THREAD_CONTEXT_TAGS || (tags == NULL && count > 0)) return false;
  thread_context_record_t* record = &context_tls_v1;
  begin_write(record, span_id, root_span_id);
  write_tags(record, tags, count);
  end_write(record, thread_context_checksum(span_id, root_span_id));
  return true;
}

API bool thread_context_set_tag(size_t index, uint32_t value) {
  if (index >= THREAD_CONTEXT_TAGS) return false;
  __atomic_store_n(&context_tls_v1.tags[index], value, __ATOMIC_RELEASE);
  return true;
}

API void thread_context_clear(void) {
  thread_context_record_t* record = &context_tls_v1;
  begin_write(record, 0, 0);
  write_tags(record, NULL, 0);
}

API thread_context_state_t thread_context_read(const thread_context_record_t* record,
                                               thread_context_record_t* out) {
  *out = (thread_context_record_t){0};
  const uint64_t checksum = __atomic_load_n(&record->checksum, __ATOMIC_ACQUIRE);
  if (checksum == 0) return THREAD_CONTEXT_ABSENT;
  const uint64_t span_id = __atomic_load_n(&record->span_id, __ATOMIC_ACQUIRE);
  const uint64_t root_span_id = __atomic_load_n(&record->root_span_id, __ATOMIC_ACQUIRE);
  if (thread_context_checksum(span_id, root_span_id) != checksum) return THREAD_CONTEXT_TORN;
  out->span_id = span_id;
  out->root_span_id = root_span_id;
  out->checksum = checksum;
  for (size_t i = 0; i < THREAD_CONTEXT_TAGS; i++)
    out->tags[i] = __atomic_load_n(&record->tags[i], __ATOMIC_ACQUIRE);
  return THREAD_CONTEXT_PRESENT;
}
