/* This is the C API of libotelcontext: OpenTelemetry's thread context (OTEP 4947) and process
 * context (OTEP 4719), for profilers that support them. A thread publishes the trace and span under
 * which it works, and up to 612 bytes of attributes. The process publishes what it is
 * (service.name, ...) and the names of the attributes, because a thread writes one byte for each
 * name.
 *
 *   thread                                          process
 *   otel_thread_ctx_v1 --> record                   mapping named OTEL_CTX --> payload
 *                          trace ID, span ID                                   service.name=shop
 *                          key 0: "/pay"   ....................................  key 0: http.route
 *
 * This is another format than the labels of writer.h, published by a library of its own. A program
 * may use both.
 *
 *   uint8_t route;
 *   otel_process_context_publish(attributes, count);     once, at the start
 *   otel_process_context_key("http.route", &route);      once for each name
 *   otel_context_attach(trace_id, span_id, 1, ...);      whenever a thread takes up a span
 *   otel_context_set(route, "/pay", 4);
 *   otel_context_detach();
 *
 * A reader that interrupts a thread at any instruction of otel_context_* finds the record from
 * before the call or the one after it, never a mixture. This does not hold for a reader on another
 * CPU that reads while the thread runs on (src/otel_thread_context.c).
 *
 * Calls that fail change nothing and return the reason: nothing is cut, nothing is left out. Link
 * the library, so that it is loaded when the program starts. A process should have only one library
 * that publishes a process context: readers take one of two. */
#ifndef CUSTOMLABELS_OTEL_CONTEXT_H
#define CUSTOMLABELS_OTEL_CONTEXT_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stddef.h>
#include <stdint.h>

/* Dynamic symbol, thread-local, 8 bytes: a pointer to the thread's record, or null. */
#define OTEL_CONTEXT_SYMBOL "otel_thread_ctx_v1"
/* The size limit of all attributes of a record; each takes two bytes and its value. Together with
 * the head that makes 640 bytes, the size that the specification asks readers to support. */
#define OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE 612
#define OTEL_CONTEXT_MAX_VALUE 255 /* its length is one byte */
#define OTEL_CONTEXT_MAX_KEYS 256  /* a key is one byte */
/* Limits of the process context: bytes of a key or a value, and of everything together. Readers
 * accept no more. */
#define OTEL_CONTEXT_MAX_TEXT 4096
#define OTEL_CONTEXT_MAX_PAYLOAD 65536

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  OTEL_CONTEXT_OK = 0,
  /* Results of thread context calls. */
  OTEL_CONTEXT_BUSY = 1,           /* the caller is a signal handler that interrupted a write */
  OTEL_CONTEXT_HALF_ID = 2,        /* a trace ID without a span ID, or the reverse */
  OTEL_CONTEXT_VALUE_TOO_LONG = 3, /* over OTEL_CONTEXT_MAX_VALUE */
  OTEL_CONTEXT_FULL = 4,           /* the attributes need over OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE */
  OTEL_CONTEXT_DUPLICATE_KEY = 5,  /* two attributes of one call have the same key */
  /* Results of process context calls. */
  OTEL_CONTEXT_TEXT_TOO_LONG = 6,     /* over OTEL_CONTEXT_MAX_TEXT */
  OTEL_CONTEXT_PAYLOAD_TOO_LARGE = 7, /* over OTEL_CONTEXT_MAX_PAYLOAD */
  OTEL_CONTEXT_TOO_MANY_KEYS = 8,     /* there are OTEL_CONTEXT_MAX_KEYS already */
  OTEL_CONTEXT_NO_MAPPING = 9,        /* the system gave no memory that a fork does not inherit */
  /* The context is published (only this result and OK mean that), but the system neither made a
   * memory file nor named the memory, so only a reader that watches the prctl call finds it. */
  OTEL_CONTEXT_UNNAMED = 10,
  /* A result of both. */
  OTEL_CONTEXT_BAD_ARGUMENT = 11 /* a null pointer, or an empty name */
} otel_context_result_t;

/* Returns the reason in words. */
const char* otel_context_result_text(otel_context_result_t result);

/* ---- The calling thread. No call allocates, locks, or makes a system call. All may be called at
 * any time, in the child after fork too (its thread keeps a copy of the record). In a signal
 * handler that has interrupted one of these calls they return BUSY and do nothing; in other
 * handlers they may be used. A handler must not leave an interrupted call by longjmp, or the thread
 * stays BUSY. (If the library was loaded by dlopen, a thread's first call does allocate.) */

/* This is the record as readers find it. */
typedef struct {
  uint8_t trace_id[16]; /* in the order in which W3C writes it; 0 if there is none */
  uint8_t span_id[8];
  uint8_t valid; /* 1 */
  uint8_t trace_flags;
  uint16_t attributes_size;                             /* bytes that are used */
  uint8_t attributes[OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE]; /* key, length, value; then the next */
} otel_context_record_t;

/* `value` may be null when size is 0. Values should be UTF-8; no function here checks that. */
typedef struct {
  uint8_t key; /* from otel_process_context_key */
  const void* value;
  size_t size;
} otel_context_attribute_t;

/* Programs may read this variable; only this library stores to it. */
extern __thread const otel_context_record_t* otel_thread_ctx_v1;

/* Returns the calling thread's record, or null. The record is valid until the thread's next write.
 */
const otel_context_record_t* otel_context_current(void);

/* Replaces the whole record at once. Both IDs are null, or zero, if there is no trace. `attributes`
 * may be null when count is 0; each key may occur once. The values may lie in the current record.
 */
otel_context_result_t otel_context_attach(const uint8_t trace_id[16], const uint8_t span_id[8],
                                          uint8_t trace_flags,
                                          const otel_context_attribute_t* attributes, size_t count);

/* Adds or replaces one attribute. Without a current record, it begins one that has no trace. */
otel_context_result_t otel_context_set(uint8_t key, const void* value, size_t size);

/* Removes one attribute. Returns OK as well if the attribute was not there. */
otel_context_result_t otel_context_remove(uint8_t key);

/* Takes the context away, with one store. */
otel_context_result_t otel_context_detach(void);

/* ---- The process. These calls lock a mutex and make system calls. They are meant for the start of
 * a program; any thread may make them, but no signal handler. A forked child has no process context
 * until it calls one of the first two; it then has the attributes and names of its parent, and
 * those that it adds. */

typedef struct {
  const char* key;
  const char* value;
} otel_process_attribute_t;

/* Publishes what the process is, in place of what was published before. `attributes` may be null
 * when count is 0. Readers take the last of equal keys. */
otel_context_result_t otel_process_context_publish(const otel_process_attribute_t* attributes,
                                                   size_t count);

/* Returns in *index the number of an attribute's name, for otel_context_set and _attach. A new name
 * gets the next number, and the process context is published with it. A name that is known keeps
 * its number for as long as the process lives. */
otel_context_result_t otel_process_context_key(const char* name, uint8_t* index);

/* Withdraws the process context, and forgets its attributes. The names keep their numbers: the next
 * publish or key brings them back. */
void otel_process_context_withdraw(void);

#if defined(__cplusplus)
}
static_assert(sizeof(otel_context_record_t) == 640, "the record has no gaps");
#else
_Static_assert(sizeof(otel_context_record_t) == 640, "the record has no gaps");
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_OTEL_CONTEXT_H */
