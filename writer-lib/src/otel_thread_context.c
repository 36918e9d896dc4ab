/* This file publishes OpenTelemetry's thread context, and changes it while a reader may read it.
 *
 * A reader follows one pointer to one record. The record has many bytes, so it cannot be changed in
 * one step; the pointer can. Each thread therefore has two records, and the pointer points to one
 * of them, or is null:
 *
 *     otel_thread_ctx_v1 --------> records[0]   published: not stored to
 *                                  records[1]   free: the next one is written here
 *
 *     1. write all of the free record             the reader finds the old record
 *     2. store its address to otel_thread_ctx_v1  from here on it finds the new one
 *
 * The record that was published is the free one from then on. The field `valid` is the format's
 * other way to hide a record that is being written. A reader that comes in the middle then finds no
 * record at all, and its sample is lost. With two records there is no such moment; `valid` is
 * always 1.
 *
 * Which readers. One that interrupts the thread (signal handler, ptrace, BPF on the same CPU) sees
 * its stores in program order, so it is enough that the compiler keeps step 1 before step 2, and
 * step 2 before step 1 of the next call. The store is a release store, so that another CPU which
 * follows the new pointer finds the new record too. But such a reader may still read the old record
 * when the next call writes to it. The format requires readers to stop the thread.
 *
 * Signal handlers. One that interrupts step 1 and writes itself would take the same free record. So
 * step 1 sets the flag `busy`, and the handler is refused. The flag needs no atomic test-and-set: a
 * handler that comes between the test and the setting runs to its end before the thread goes on,
 * and the thread then finds what the handler has published. So the pointer is read after the flag
 * is set. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "customlabels/otel_context.h"

#define API __attribute__((visibility("default")))

typedef otel_context_record_t record_t;
typedef otel_context_result_t result_t;

/* An entry begins with its key and its length. */
enum { kEntryHead = 2 };

API __thread const record_t* otel_thread_ctx_v1;

/* The records take two times ten whole cache lines. */
static __thread struct {
  record_t records[2];
  volatile sig_atomic_t busy;
} own __attribute__((aligned(64)));

/* ---- writing, from outside to inside */

/* The compiler moves no load or store across this. */
static void keep_order(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/* Returns the free record, or null if a write is in progress. */
static record_t* begin_write(void) {
  if (own.busy) return NULL;
  own.busy = 1;
  keep_order();
  return otel_thread_ctx_v1 == &own.records[0] ? &own.records[1] : &own.records[0];
}

/* Publishes the record if all went well. */
static result_t end_write(const record_t* record, result_t result) {
  if (result == OTEL_CONTEXT_OK) __atomic_store_n(&otel_thread_ctx_v1, record, __ATOMIC_RELEASE);
  keep_order();
  own.busy = 0;
  return result;
}

static void begin_record(record_t* record) {
  memset(record, 0, offsetof(record_t, attributes));
  record->valid = 1;
}

static result_t append(record_t* record, uint8_t key, const void* value, size_t size) {
  if (value == NULL && size > 0) return OTEL_CONTEXT_BAD_ARGUMENT;
  if (size > OTEL_CONTEXT_MAX_VALUE) return OTEL_CONTEXT_VALUE_TOO_LONG;
  if (size + kEntryHead > sizeof(record->attributes) - record->attributes_size)
    return OTEL_CONTEXT_FULL;
  uint8_t* entry = record->attributes + record->attributes_size;
  entry[0] = key;
  entry[1] = (uint8_t)size;
  if (size > 0) memcpy(entry + kEntryHead, value, size);
  record->attributes_size = (uint16_t)(record->attributes_size + kEntryHead + size);
  return OTEL_CONTEXT_OK;
}

/* ---- attach */

static bool is_zero(const uint8_t* id, size_t size) {
  for (size_t i = 0; id != NULL && i < size; i++)
    if (id[i] != 0) return false;
  return true;
}

static result_t append_all(record_t* record, const otel_context_attribute_t* attributes,
                           size_t count) {
  if (attributes == NULL && count > 0) return OTEL_CONTEXT_BAD_ARGUMENT;
  bool seen[OTEL_CONTEXT_MAX_KEYS] = {false};
  for (size_t i = 0; i < count; i++) {
    if (seen[attributes[i].key]) return OTEL_CONTEXT_DUPLICATE_KEY;
    seen[attributes[i].key] = true;
    const result_t result =
        append(record, attributes[i].key, attributes[i].value, attributes[i].size);
    if (result != OTEL_CONTEXT_OK) return result;
  }
  return OTEL_CONTEXT_OK;
}

API result_t otel_context_attach(const uint8_t trace_id[16], const uint8_t span_id[8],
                                 uint8_t trace_flags, const otel_context_attribute_t* attributes,
                                 size_t count) {
  const bool no_trace = is_zero(trace_id, sizeof(own.records->trace_id));
  if (no_trace != is_zero(span_id, sizeof(own.records->span_id))) return OTEL_CONTEXT_HALF_ID;
  record_t* record = begin_write();
  if (record == NULL) return OTEL_CONTEXT_BUSY;
  begin_record(record);
  if (!no_trace) {
    memcpy(record->trace_id, trace_id, sizeof(record->trace_id));
    memcpy(record->span_id, span_id, sizeof(record->span_id));
    record->trace_flags = trace_flags; /* without a span there are no flags */
  }
  return end_write(record, append_all(record, attributes, count));
}

/* ---- changes of one attribute */

/* One attribute as it shall be; a null value removes it. */
typedef struct {
  uint8_t key;
  const void* value;
  size_t size;
} change_t;

/* Returns the calling thread's record, or null if it has none. The record may be one of another
 * writer, which hides it by `valid`. */
static const record_t* current_record(void) {
  const record_t* record = otel_thread_ctx_v1;
  return record != NULL && record->valid == 1 ? record : NULL;
}

/* Copies the attributes of `from`, with the change at the place of the old one. Another writer's
 * record may have the attribute twice, and its last entry may be cut; the copy has it once. */
static result_t copy_changed(record_t* record, const record_t* from, const change_t* change,
                             bool* placed) {
  const size_t size = from->attributes_size;
  size_t at = 0;
  while (at + kEntryHead <= size && at + kEntryHead + from->attributes[at + 1] <= size) {
    const uint8_t* entry = from->attributes + at;
    at += kEntryHead + (size_t)entry[1];
    const bool changed = entry[0] == change->key;
    if (changed && (*placed || change->value == NULL)) continue;
    *placed |= changed;
    const result_t result = changed ? append(record, change->key, change->value, change->size)
                                    : append(record, entry[0], entry + kEntryHead, entry[1]);
    if (result != OTEL_CONTEXT_OK) return result;
  }
  return OTEL_CONTEXT_OK;
}

static result_t write_changed(record_t* record, const change_t* change) {
  const record_t* from = current_record();
  begin_record(record);
  bool placed = false;
  if (from != NULL) {
    /* The record may be another writer's, so its size is checked. */
    if (from->attributes_size > sizeof(from->attributes)) return OTEL_CONTEXT_FULL;
    memcpy(record, from, offsetof(record_t, attributes));
    record->attributes_size = 0;
    const result_t result = copy_changed(record, from, change, &placed);
    if (result != OTEL_CONTEXT_OK) return result;
  }
  if (placed || change->value == NULL) return OTEL_CONTEXT_OK;
  return append(record, change->key, change->value, change->size);
}

API result_t otel_context_set(uint8_t key, const void* value, size_t size) {
  if (value == NULL && size > 0) return OTEL_CONTEXT_BAD_ARGUMENT;
  record_t* record = begin_write();
  if (record == NULL) return OTEL_CONTEXT_BUSY;
  const change_t change = {key, value == NULL ? "" : value, size};
  return end_write(record, write_changed(record, &change));
}

API result_t otel_context_remove(uint8_t key) {
  record_t* record = begin_write();
  if (record == NULL) return OTEL_CONTEXT_BUSY;
  /* Without a record there is nothing to remove. */
  if (current_record() == NULL) return end_write(otel_thread_ctx_v1, OTEL_CONTEXT_OK);
  const change_t change = {key, NULL, 0};
  return end_write(record, write_changed(record, &change));
}

API result_t otel_context_detach(void) {
  /* The write that was interrupted would publish its record after this call. */
  if (own.busy) return OTEL_CONTEXT_BUSY;
  __atomic_store_n(&otel_thread_ctx_v1, NULL, __ATOMIC_RELEASE);
  keep_order();
  return OTEL_CONTEXT_OK;
}

/* ---- reading */

API const record_t* otel_context_current(void) { return otel_thread_ctx_v1; }

API const char* otel_context_result_text(result_t result) {
  switch (result) {
    case OTEL_CONTEXT_OK:
      return "done";
    case OTEL_CONTEXT_BUSY:
      return "the thread was interrupted while it wrote its context";
    case OTEL_CONTEXT_HALF_ID:
      return "a trace ID and a span ID belong together, and one of them is zero";
    case OTEL_CONTEXT_VALUE_TOO_LONG:
      return "the value of an attribute has more than 255 bytes";
    case OTEL_CONTEXT_FULL:
      return "the attributes of a thread need more than 612 bytes";
    case OTEL_CONTEXT_DUPLICATE_KEY:
      return "two attributes have the same key";
    case OTEL_CONTEXT_TEXT_TOO_LONG:
      return "a key or a value of the process has more than 4,096 bytes";
    case OTEL_CONTEXT_PAYLOAD_TOO_LARGE:
      return "the process context needs more than 65,536 bytes";
    case OTEL_CONTEXT_TOO_MANY_KEYS:
      return "256 names of attributes are in use";
    case OTEL_CONTEXT_NO_MAPPING:
      return "the system gave no memory for the process context";
    case OTEL_CONTEXT_UNNAMED:
      return "published, but the system gave the memory no name by which readers find it";
    case OTEL_CONTEXT_BAD_ARGUMENT:
      return "a pointer is null, or a name is empty";
  }
  return "no result of this library";
}
