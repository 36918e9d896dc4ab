/* A writer of OpenTelemetry's thread context that keeps to OTEP 4947 and 4719, or has one flaw,
 * which the build names (live.cmake). */
#define _GNU_SOURCE
#include <pthread.h>

#include "otel_publish.h"
#include "stay.h"

#define PAGE 65536 /* a multiple of every page size */

__thread const void* volatile otel_thread_ctx_v1;

static struct otel_record record __attribute__((aligned(64)));

/* Returns the end of a page behind which nothing is mapped. */
static unsigned char* before_hole(void) {
  unsigned char* start =
      mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || munmap(start + PAGE, PAGE) != 0) exit(3);
  return start + PAGE;
}

static const char* const names[] = {"http.route", "tenant"};

static void publish_process(void) {
  struct message attributes = {NULL, 0}, all = {NULL, 0};
  put_message(&attributes, 1, key_value("service.name", text("violator")));
#if defined(TEXTS)
  static char long_text[5000];
  memset(long_text, 'x', sizeof long_text - 1);
  put_message(&attributes, 1, key_value("long", text(long_text)));
#endif
  put_message(&all, 1, attributes);
#if defined(SCHEMA)
  put_message(&all, 2, key_value("threadlocal.schema_version", text("of_tomorrow_v7")));
#else
  put_message(&all, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
#endif
  put_message(&all, 2, key_value("threadlocal.attribute_key_map", array_of(names, 2)));
  publish(all);
#if defined(HEADER)
  context->signature[0] = 'x';
#elif defined(VERSION)
  context->version = 3;
#elif defined(PAYLOAD)
  context->size -= 1;
#elif defined(TIME)
  context->published_ns = 0;
#endif
}

#if defined(MOVED)
/* Gives the two names each other's number, again and again. */
static void* move_names(void* ignored) {
  static const char* const moved[] = {"tenant", "http.route"};
  for (int turn = 0;; turn++) {
    struct message all = {NULL, 0};
    put_message(&all, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
    put_message(
        &all, 2,
        key_value("threadlocal.attribute_key_map", array_of(turn % 2 == 0 ? moved : names, 2)));
    publish(all);
    usleep(10000);
  }
  return ignored;
}
#endif

int main(int argc, char** argv) {
  (void)argv;
  const void* published = &record;
#if !defined(NO_CONTEXT)
  publish_process();
#endif
  memset(record.trace, 0x11, sizeof record.trace);
  memset(record.span, 0x22, sizeof record.span);
  record.valid = 1;
  record.flags = 1;
  add_text(&record, 0, "/pay");
  add_text(&record, 1, "acme");
#if defined(UNMAPPED)
  published = before_hole();
#elif defined(ODD)
  published = memmove((unsigned char*)&record + 1, &record, sizeof record - 1);
#elif defined(MARK)
  record.valid = 2;
#elif defined(NO_SPAN)
  memset(record.span, 0, sizeof record.span);
#elif defined(FLAGS)
  memset(record.trace, 0, sizeof record.trace + sizeof record.span);
#elif defined(PAST_END)
  published = memcpy(before_hole() - 28, &record, 28);
#elif defined(SHORT)
  record.size = (uint16_t)(record.size - 1);
#elif defined(LATIN1)
  add_text(&record, 1, "caf\xe9");
#elif defined(LARGE)
  static char filler[255];
  memset(filler, 'x', sizeof filler);
  for (int i = 0; i < 3; i++) add(&record, 1, filler, sizeof filler);
#elif defined(UNNAMED)
  add_text(&record, 9, "?");
#else
  (void)before_hole;
#endif
  otel_thread_ctx_v1 = published;
#if defined(MOVED)
  pthread_t thread;
  if (pthread_create(&thread, NULL, move_names, NULL) != 0) return 1;
#endif
  stay(argc);
}
