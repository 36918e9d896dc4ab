/* A span ID is overwritten in a record that is valid. */
#include "otel_record.h"

static __thread struct otel_record record;

static NOINLINE void overwrite(uint8_t* to, uint8_t letter) {
  for (int i = 0; i < 8; i++) STORE(to[i], letter);  // expect LS250 in overwrite
}

void stepper_begin(void) {
  fill(&record, 'a');
  record.valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, &record));
}

void stepper_update(int turn) { overwrite(record.span, (uint8_t)('b' + turn)); }

void stepper_end(void) { otel_thread_ctx_v1 = NULL; }
