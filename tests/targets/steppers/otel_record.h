/* OpenTelemetry's variable and record, in the file of the writer that includes this (built with
 * -D_GNU_SOURCE). */
#ifndef LABELSCOPE_STEPPER_OTEL_RECORD_H
#define LABELSCOPE_STEPPER_OTEL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "otel_publish.h"
#include "stepper.h"

EXPORT __thread struct otel_record* otel_thread_ctx_v1;

#define ORDERED(statement)             \
  do {                                 \
    __asm__ volatile("" ::: "memory"); \
    statement;                         \
    __asm__ volatile("" ::: "memory"); \
  } while (0)

/* A process with records has names and a schema. */
__attribute__((constructor)) static void publish_process(void) {
  static const char* const names[] = {"key"};
  struct message message = {NULL, 0};
  put_message(&message, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
  put_message(&message, 2, key_value("threadlocal.attribute_key_map", array_of(names, 1)));
  publish(message);
#if defined(UNPUBLISHED)
  context->published_ns = 0;
#endif
}

static inline void fill(struct otel_record* record, uint8_t letter) {
  for (int i = 0; i < 16; i++) STORE(record->trace[i], letter);
  for (int i = 0; i < 8; i++) STORE(record->span[i], letter);
}

#endif
