// A program with OpenTelemetry's thread contexts (OTEP 4947) and a process context (OTEP 4719),
// written here by the two documents.
//
//  otel_contexts [fault]      a fault of the process context: version, size, garbage, pointer,
//                             changing
//
// It has threads that compute, one for each part below. Each prints {"tid":...,"part":...}. Then it
// prints "ready". It takes lines on stdin: "grow" names the key 9, too, and prints "grown"; "fork"
// starts a child that has one thread with a record and no process context of its own, and prints
// "forked PID". It ends when its stdin closes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "otel_publish.h"

__attribute__((visibility("default"))) __thread struct otel_record* otel_thread_ctx_v1;

// ---- records

enum Part { WHOLE, DUPLICATE, UNKNOWN, BARE, INCOMPLETE, OVERSIZE, INVALID, NONE, PARTS };
static const char* const names[PARTS] = {"whole",      "duplicate", "unknown", "bare",
                                         "incomplete", "oversize",  "invalid", "none"};

static void fill(struct otel_record* record, enum Part part) {
  if (part != BARE) {
    for (int i = 0; i < 16; ++i) record->trace[i] = (unsigned char)(i + 1);
    record->span[7] = (unsigned char)(0xa0 + part);
  }
  switch (part) {
    case WHOLE:
      add_text(record, 0, "00000000000000aa");
      add_text(record, 1, "GET /pay");
      break;
    case DUPLICATE:
      add_text(record, 1, "first");
      add_text(record, 1, "last");
      break;
    case UNKNOWN:
      add_text(record, 9, "grown");
      add_text(record, 1, "GET /cart");
      break;
    case BARE:
      add_text(record, 9, "grown");
      break;
    case INCOMPLETE:
      add_text(record, 1, "GET /");
      add_text(record, 2, "u");
      record->size--;
      break;
    case OVERSIZE: {
      char value[250];
      memset(value, 'x', sizeof value);
      add_text(record, 1, "GET /all");
      while (record->size < 5000) add(record, 2, value, sizeof value);
      break;
    }
    default:
      break;
  }
  record->flags = 1;
  record->valid = part == INVALID ? 2 : 1;
}

static pthread_barrier_t in_turn;

static void compute(void) {
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
}

static void* work(void* argument) {
  const enum Part part = *(const enum Part*)argument;
  if (part != NONE) {
    struct otel_record* record = calloc(1, sizeof *record);
    fill(record, part);
    otel_thread_ctx_v1 = record;
  }
  printf("{\"tid\":%ld,\"part\":\"%s\"}\n", syscall(SYS_gettid), names[part]);
  pthread_barrier_wait(&in_turn);
  compute();
  return NULL;
}

// ---- the process context

static struct message payload(int keys) {
  static const char* const all[] = {"datadog.local_root_span_id",
                                    "http.route",
                                    "user.id",
                                    "k3",
                                    "k4",
                                    "k5",
                                    "k6",
                                    "k7",
                                    "k8",
                                    "late.key"};
  struct message resource = {NULL, 0}, message = {NULL, 0};
  put_message(&resource, 1, key_value("service.name", text("shop")));
  put_message(&resource, 1, key_value("service.version", text("1.2\x1b[31m")));
  put_message(&message, 1, resource);
  put_message(&message, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
  put_message(&message, 2, key_value("threadlocal.attribute_key_map", array_of(all, keys)));
  return message;
}

static void spoil(const char* fault) {
  if (strcmp(fault, "version") == 0) context->version = 7;
  if (strcmp(fault, "size") == 0) context->size = 1U << 30;
  if (strcmp(fault, "garbage") == 0) memset((void*)context->payload, 0xff, context->size);
  if (strcmp(fault, "pointer") == 0) context->payload = (void*)8;
  if (strcmp(fault, "changing") == 0) context->published_ns = 0;
}

static void start_child(void) {
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, 9);
  struct otel_record* record = calloc(1, sizeof *record);
  fill(record, WHOLE);
  otel_thread_ctx_v1 = record;
  printf("forked %d\n", (int)getpid());
  fflush(stdout);
  compute();
}

int main(int argc, char** argv) {
  static const enum Part parts[PARTS] = {WHOLE,      DUPLICATE, UNKNOWN, BARE,
                                         INCOMPLETE, OVERSIZE,  INVALID, NONE};
  publish(payload(9));
  if (argc > 1) spoil(argv[1]);
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < PARTS; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)&parts[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "fork\n") == 0) start_child();
    if (strcmp(line, "grow\n") != 0) continue;
    publish(payload(10));
    puts("grown");
    fflush(stdout);
  }
  return 0;
}
