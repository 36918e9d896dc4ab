/* C API of libotelcontext: OpenTelemetry's thread context (OTEP 4947) and process context (OTEP
 * 4719), for profilers that know them. A thread says under which trace and span it works, and up to
 * 612 bytes of attributes. The process says what it is (service.name, ...) and what the attributes
 * are called, because a thread writes one byte for each name.
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
 * Whoever interrupts a thread at any instruction of otel_context_* finds the record from before the
 * call or the one after it, never a mixture. It does not hold for a reader on another CPU that
 * reads while the thread runs on (src/otel_thread_context.c).
 *
 * Calls that fail change nothing, and say why: nothing is cut, nothing is left out. Link the
 * library, so that it is loaded when the program starts. A process should have one library that
 * publishes a process context: of two, readers take one. */
#ifndef CUSTOMLABELS_OTEL_CONTEXT_H
#define CUSTOMLABELS_OTEL_CONTEXT_H

/* NOLINTBEGIN(modernize-*): this header is C. */

#include <stddef.h>
#include <stdint.h>

/* Dynamic symbol, thread-local, 8 bytes: points to the thread's record, or is null. */
#define OTEL_CONTEXT_SYMBOL "otel_thread_ctx_v1"
/* Of all attributes of a record; each takes two bytes and its value. With the head that makes 640,
 * which is what readers are asked to cope with. */
#define OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE 612
#define OTEL_CONTEXT_MAX_VALUE 255 /* its length is one byte */
#define OTEL_CONTEXT_MAX_KEYS 256  /* a key is one byte */
/* Of the process context: bytes of a key or a value, and of everything together. Readers take no
 * more. */
#define OTEL_CONTEXT_MAX_TEXT 4096
#define OTEL_CONTEXT_MAX_PAYLOAD 65536

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  OTEL_CONTEXT_OK = 0,
  /* Of the thread context. */
  OTEL_CONTEXT_BUSY = 1,           /* the signal handler that called interrupted a write */
  OTEL_CONTEXT_HALF_ID = 2,        /* a trace ID without a span ID, or the reverse */
  OTEL_CONTEXT_VALUE_TOO_LONG = 3, /* over OTEL_CONTEXT_MAX_VALUE */
  OTEL_CONTEXT_FULL = 4,           /* the attributes need over OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE */
  OTEL_CONTEXT_DUPLICATE_KEY = 5,  /* two attributes of one call have the same key */
  /* Of the process context. */
  OTEL_CONTEXT_TEXT_TOO_LONG = 6,     /* over OTEL_CONTEXT_MAX_TEXT */
  OTEL_CONTEXT_PAYLOAD_TOO_LARGE = 7, /* over OTEL_CONTEXT_MAX_PAYLOAD */
  OTEL_CONTEXT_TOO_MANY_KEYS = 8,     /* there are OTEL_CONTEXT_MAX_KEYS */
  OTEL_CONTEXT_NO_MAPPING = 9,        /* the system gave no memory that a fork does not inherit */
  /* Published, as the only result beside OK: but the system neither made a memory file nor named
   * the memory, so only a reader that watches the prctl call finds it. */
  OTEL_CONTEXT_UNNAMED = 10,
  /* Of both. */
  OTEL_CONTEXT_BAD_ARGUMENT = 11 /* a null pointer, or an empty name */
} otel_context_result_t;

/* The reason in words. */
const char* otel_context_result_text(otel_context_result_t result);

/* ---- The calling thread. No call allocates, locks, or asks the system. All may be called at any
 * time, in the child after fork too (its thread keeps a copy of the record). In a signal handler
 * that has interrupted one of these calls they return BUSY and do nothing, otherwise they may be
 * used there as well. A handler must not leave by longjmp what it has interrupted, or the thread
 * stays BUSY. (Where the library was loaded by dlopen, a thread's first call does
 * allocate.) */

/* As readers find it. */
typedef struct {
  uint8_t trace_id[16]; /* in the order in which W3C writes it; 0: none */
  uint8_t span_id[8];
  uint8_t valid; /* 1 */
  uint8_t trace_flags;
  uint16_t attributes_size;                             /* bytes that are used */
  uint8_t attributes[OTEL_CONTEXT_MAX_ATTRIBUTES_SIZE]; /* key, length, value; the next */
} otel_context_record_t;

/* `value` may be null when size is 0. Values are UTF-8; nothing here looks at that. */
typedef struct {
  uint8_t key; /* from otel_process_context_key */
  const void* value;
  size_t size;
} otel_context_attribute_t;

/* For reading; only this library stores to it. */
extern __thread const otel_context_record_t* otel_thread_ctx_v1;

/* The calling thread's record, or null. What it points to holds until the thread's next write. */
const otel_context_record_t* otel_context_current(void);

/* Replaces everything at once. Both IDs are null, or zero, where there is no trace. `attributes`
 * may be null when count is 0; each key may be there once. The values may lie in the current
 * record. */
otel_context_result_t otel_context_attach(const uint8_t trace_id[16], const uint8_t span_id[8],
                                          uint8_t trace_flags,
                                          const otel_context_attribute_t* attributes, size_t count);

/* Adds or replaces one attribute. Without a current record, begins one that has no trace. */
otel_context_result_t otel_context_set(uint8_t key, const void* value, size_t size);

/* OK as well if the attribute was not there. */
otel_context_result_t otel_context_remove(uint8_t key);

/* No context: one store. */
otel_context_result_t otel_context_detach(void);

/* ---- The process. These lock a mutex and ask the system: for the start of a program, for any of
 * its threads, not for signal handlers. A forked child has no process context until it calls one of
 * the first two; it then has the attributes and names of its parent, and what it says itself. */

typedef struct {
  const char* key;
  const char* value;
} otel_process_attribute_t;

/* Says what the process is, instead of what it said before. `attributes` may be null when count is
 * 0. Of equal keys, readers take the last. */
otel_context_result_t otel_process_context_publish(const otel_process_attribute_t* attributes,
                                                   size_t count);

/* The number of an attribute's name, for otel_context_set and _attach. A new name gets the next
 * number, and the process context is published with it. A name that is known keeps its number for
 * as long as the process lives. */
otel_context_result_t otel_process_context_key(const char* name, uint8_t* index);

/* Takes the process context back, and forgets its attributes. The names keep their numbers: the
 * next publish or key brings them back. */
void otel_process_context_withdraw(void);

#if defined(__cplusplus)
}
static_assert(sizeof(otel_context_record_t) == 640, "the record has no gaps");
#else
_Static_assert(sizeof(otel_context_record_t) == 640, "the record has no gaps");
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_OTEL_CONTEXT_H */
