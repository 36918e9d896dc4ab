// Publishes through every source of labels that C can have, for one part of a program:
//
//  ABI v1                  which=v1-N, tenant=part-N
//  otel_thread_ctx_v1      span_id of N, trace_id of N, which=otel-N
//  Elastic APM's          transaction_id of N, trace_id of N
//  context_tls_v1          span_id of 256 + N, root_span_id of N
//  plain_number            a thread-local variable without a publisher: N
//
// In a library, set_everything(N) does it for the calling thread. In a program (PROGRAM), three
// threads that compute are the parts 1 to 3. It prints {"tid":...,"part":N} of each, then "ready",
// and ends when its stdin closes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "customlabels/label_abi.h"
#include "customlabels/thread_context.h"
#include "otel_publish.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
EXPORT __thread custom_labels_labelset_t* custom_labels_current_set;
EXPORT __thread struct otel_record* otel_thread_ctx_v1;
EXPORT __thread struct elastic* elastic_apm_profiling_correlation_tls_v1;
EXPORT __thread uint32_t plain_number;

struct elastic {
  unsigned char version[2], valid, trace_present, flags, trace[16], span[8], transaction[8];
};

static custom_labels_string_t text_of(const char* text) {
  return (custom_labels_string_t){strlen(text), (const unsigned char*)text};
}

static char* numbered(const char* name, int part) {
  char* text = NULL;
  if (asprintf(&text, "%s-%d", name, part) < 0) exit(2);
  return text;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void publish_names(void) {
  static const char* const keys[] = {"which"};
  struct message message = {NULL, 0};
  put_message(&message, 2, key_value("threadlocal.schema_version", text("tlsdesc_v1_dev")));
  put_message(&message, 2, key_value("threadlocal.attribute_key_map", array_of(keys, 1)));
  publish(message);
}

EXPORT void set_everything(int part) {
  pthread_once(&once, publish_names);
  custom_labels_label_t* labels = calloc(2, sizeof *labels);
  custom_labels_labelset_t* set = calloc(1, sizeof *set);
  struct otel_record* record = calloc(1, sizeof *record);
  struct elastic* elastic = calloc(1, sizeof *elastic);
  if (labels == NULL || set == NULL || record == NULL || elastic == NULL) exit(2);
  labels[0] = (custom_labels_label_t){text_of("which"), text_of(numbered("v1", part))};
  labels[1] = (custom_labels_label_t){text_of("tenant"), text_of(numbered("part", part))};
  *set = (custom_labels_labelset_t){labels, 2, 2};
  record->trace[15] = record->span[7] = (unsigned char)part;
  add_text(record, 0, numbered("otel", part));
  record->valid = 1;
  *elastic = (struct elastic){.version = {1}, .valid = 1, .trace_present = 1};
  elastic->trace[15] = elastic->transaction[7] = (unsigned char)part;
  elastic_apm_profiling_correlation_tls_v1 = elastic;
  custom_labels_current_set = set;
  otel_thread_ctx_v1 = record;
  plain_number = (uint32_t)part;
  thread_context_put(256U + (unsigned)part, (unsigned)part);
}

#if defined(PROGRAM)
static pthread_barrier_t in_turn;

static void* work(void* argument) {
  const int part = *(const int*)argument;
  set_everything(part);
  printf("{\"tid\":%ld,\"part\":%d}\n", syscall(SYS_gettid), part);
  pthread_barrier_wait(&in_turn);
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
  return NULL;
}

int main(void) {
  static const int parts[] = {1, 2, 3};
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)&parts[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
#endif
