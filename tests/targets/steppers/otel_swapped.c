/* The next record is filled where no reader sees it, then one store publishes it. */
#include "otel_record.h"

static __thread struct otel_record records[2];

void stepper_begin(void) {
  fill(&records[0], 'a');
  records[0].valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, &records[0]));
}

void stepper_update(int turn) {
  struct otel_record* next = &records[(turn + 1) % 2];
  fill(next, (uint8_t)('b' + turn));
  next->valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, next));
}

void stepper_end(void) { otel_thread_ctx_v1 = NULL; }
