/* The next record is filled where no reader sees it, then one store publishes it. With MOVED, the
 * key map gives the first key another name meanwhile. */
#include "otel_record.h"

static __thread struct otel_record records[2];

void stepper_begin(void) {
  fill(&records[0], 'a');
  records[0].valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, &records[0]));
}

#if defined(MOVED)
static void move_names(void) {
  static const char* const names[] = {"another", "key"};
  struct message message = {NULL, 0};
  put_message(&message, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
  put_message(&message, 2, key_value("threadlocal.attribute_key_map", array_of(names, 2)));
  publish(message);
}
#endif

void stepper_update(int turn) {
#if defined(MOVED)
  if (turn == 1) move_names();
#endif
  struct otel_record* next = &records[(turn + 1) % 2];
  fill(next, (uint8_t)('b' + turn));
  next->valid = 1;
  ORDERED(STORE(otel_thread_ctx_v1, next));
}

void stepper_end(void) { otel_thread_ctx_v1 = NULL; }
