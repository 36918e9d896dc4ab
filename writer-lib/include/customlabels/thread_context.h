/* This is the C API of libthreadcontext: the calling thread's trace context as one 64-byte record.
 * A profiler reads it without any lock, and detects a half-written record by its checksum.
 *
 * This is another format than the labels of writer.h, published by a library of its own: two
 * numbers and ten tags at a fixed place, for tracers that change them at every span and profilers
 * that support them. A program may link both.
 *
 * The record is the thread-local variable context_tls_v1, zero when a thread starts:
 *
 *   0x00  span_id       8 bytes
 *   0x08  root_span_id  8 bytes
 *   0x10  checksum      8 bytes; 0: no context, or a write in progress
 *   0x18  tags[0..10)   4 bytes each; what a number stands for is between program and profiler
 *
 * Writing. checksum = 0, then the fields, then checksum = thread_context_checksum(span, root). A
 * reader that interrupts the thread between two instructions sees its stores in program order, so
 * only the compiler must be kept from reordering them. The stores are release stores nevertheless,
 * each ordered after all before it: that costs nothing on x86-64 and little on aarch64, and a
 * reader on another CPU sees the same order (src/thread_context.c).
 *
 * Reading. A reader calls thread_context_read(), or does the same on a copy: it reads the checksum
 * first, then the fields, and then compares.
 *
 * Any thread may call these at any time, in the child after fork too (it keeps its copy). Nothing
 * here allocates, locks or fails. Writing in a signal handler is allowed only if the handler cannot
 * interrupt a write: an interrupted write finishes over the handler's record, and the record then
 * counts as torn until the next write. */
#ifndef CUSTOMLABELS_THREAD_CONTEXT_H
#define CUSTOMLABELS_THREAD_CONTEXT_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dynamic symbol, thread-local, 64 bytes. */
#define THREAD_CONTEXT_SYMBOL "context_tls_v1"
#define THREAD_CONTEXT_TAGS 10

#if defined(__cplusplus)
extern "C" {
#endif

/* The record is aligned to its own size, so it lies in one cache line. */
typedef struct {
  uint64_t span_id;
  uint64_t root_span_id;
  uint64_t checksum;
  uint32_t tags[THREAD_CONTEXT_TAGS];
} __attribute__((aligned(64))) thread_context_record_t;

/* Programs may read this variable; only this library stores to it. */
extern __thread thread_context_record_t context_tls_v1;

/* Returns the calling thread's record. A signal handler should use a pointer that the thread asked
 * for before: if the library was loaded by dlopen, the first access of a thread may allocate. */
const thread_context_record_t* thread_context_record(void);

/* Sets both IDs; the tags stay. */
void thread_context_put(uint64_t span_id, uint64_t root_span_id);

/* Sets both IDs and the first `count` tags, the rest to 0, as one write: no reader accepts new IDs
 * with old tags. `tags` may be null when count is 0; a count over THREAD_CONTEXT_TAGS is refused
 * (false), and nothing changes. */
bool thread_context_put_all(uint64_t span_id, uint64_t root_span_id, const uint32_t* tags,
                            size_t count);

/* Sets one tag, in one store. Returns false if there is no such tag. */
bool thread_context_set_tag(size_t index, uint32_t value);

/* Takes the context away: IDs, tags and checksum are 0. (IDs that are put as 0 are a context.) */
void thread_context_clear(void);

/* Returns the checksum of these IDs, which is never 0. */
uint64_t thread_context_checksum(uint64_t span_id, uint64_t root_span_id);

/* What a reader finds in a record. */
typedef enum {
  THREAD_CONTEXT_PRESENT = 0, /* *out holds a whole record */
  THREAD_CONTEXT_ABSENT = 1,  /* no context, or one being written */
  THREAD_CONTEXT_TORN = 2 /* the checksum does not fit: this library did not write this record */
} thread_context_state_t;

/* Copies and judges a record: this thread's, in a signal handler, or a copy from another's memory.
 * *out is all 0 unless the result is PRESENT. The call is safe in signal handlers. */
thread_context_state_t thread_context_read(const thread_context_record_t* record,
                                           thread_context_record_t* out);

#if defined(__cplusplus)
}
static_assert(sizeof(thread_context_record_t) == 64, "context_tls_v1 is 64 bytes");
#else
_Static_assert(sizeof(thread_context_record_t) == 64, "context_tls_v1 is 64 bytes");
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_THREAD_CONTEXT_H */
