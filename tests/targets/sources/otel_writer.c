// A program that publishes OpenTelemetry's thread context and process context through
// libotelcontext.so.
//
// It has threads that compute, one for each part below. Each prints {"tid":...,"part":...}. Then it
// prints "ready". It takes lines on stdin: "fork" starts a child that has the context of the first
// part and publishes a process context of its own, and prints "forked PID". It ends when its stdin
// closes and its threads have computed for a second, in which a reader sees them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "customlabels/otel_context.h"

enum Part { WHOLE, CHANGED, BARE, DETACHED, PARTS };
static const char* const names[PARTS] = {"whole", "changed", "bare", "detached"};

static pthread_barrier_t in_turn;
static uint8_t route, tenant;

static void need(otel_context_result_t result) {
  if (result == OTEL_CONTEXT_OK) return;
  fprintf(stderr, "%s\n", otel_context_result_text(result));
  exit(2);
}

static void label(enum Part part) {
  static const uint8_t trace[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const uint8_t span[8] = {0, 0, 0, 0, 0, 0, 0, (uint8_t)(0xa0 + part)};
  const otel_context_attribute_t attributes[] = {{route, "GET /pay", 8}, {tenant, "acme", 4}};
  if (part == BARE) {
    need(otel_context_set(tenant, "bare", 4));
    return;
  }
  need(otel_context_attach(trace, span, 1, attributes, 2));
  if (part == CHANGED) {
    need(otel_context_set(tenant, "globex", 6));
    need(otel_context_remove(route));
  }
  if (part == DETACHED) need(otel_context_detach());
}

static void compute(void) {
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
}

static void* work(void* argument) {
  const enum Part part = *(const enum Part*)argument;
  label(part);
  printf("{\"tid\":%ld,\"part\":\"%s\"}\n", syscall(SYS_gettid), names[part]);
  pthread_barrier_wait(&in_turn);
  compute();
  return NULL;
}

static void publish(const char* service) {
  const otel_process_attribute_t attributes[] = {{"service.name", service},
                                                 {"service.version", "1.2"}};
  need(otel_process_context_publish(attributes, 2));
}

static void start_child(void) {
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, 9);
  label(WHOLE);
  publish("child");
  printf("forked %d\n", (int)getpid());
  fflush(stdout);
  compute();
}

static void wait_for_a_second_of_work(void) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  while (clock() < CLOCKS_PER_SEC) nanosleep(&pause, NULL);
}

int main(void) {
  static const enum Part parts[PARTS] = {WHOLE, CHANGED, BARE, DETACHED};
  publish("shop");
  need(otel_process_context_key("http.route", &route));
  need(otel_process_context_key("tenant", &tenant));
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < PARTS; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)&parts[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL)
    if (strcmp(line, "fork\n") == 0) start_child();
  wait_for_a_second_of_work();
  return 0;
}
