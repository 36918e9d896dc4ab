/* Trace ID and span ID are each stored by one store, one after the other, in a record that is
 * valid. */
#include "otel_record.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t bytes8 __attribute__((aligned(8)));

static __thread struct otel_record record __attribute__((aligned(16)));

static NOINLINE void set_span(struct otel_record* to, const bytes16* trace, uint64_t span) {
  *(volatile bytes16*)to->trace = *trace;  // expect LS250 in set_span
  *(volatile bytes8*)to->span = span;
}

void stepper_begin(void) {
  fill(&record, 'a');
  record.valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, &record));
}

void stepper_update(int turn) {
  bytes16 trace;
  for (int i = 0; i < 16; i++) trace[i] = (uint8_t)('b' + turn);
  set_span(&record, &trace, 0x6262626262626262U + (uint64_t)turn);
}

void stepper_end(void) { otel_thread_ctx_v1 = NULL; }
