/* A record is marked as invalid while it changes: the mark is 0. */
#include "otel_record.h"

static __thread struct otel_record record;

void stepper_begin(void) {
  fill(&record, 'a');
  record.valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, &record));
}

void stepper_update(int turn) {
  ORDERED(STORE(record.valid, 0));
  fill(&record, (uint8_t)('b' + turn));
  ORDERED(STORE(record.valid, 1));
}

void stepper_end(void) { otel_thread_ctx_v1 = NULL; }
