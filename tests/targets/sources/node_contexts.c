// A program with OpenTelemetry's thread contexts of node. Its objects are made up here: the map of
// a frame as V8 lays it out, and the way from an object to its record as one of the writers has it.
//
//  node_contexts WRITER [quiet]      5.16, 5.17, 5.19, 5.20; quiet: no process context before
//                                    "tell"
//
// It has threads that compute, one for each part below. Each prints {"tid":...,"part":...}. Then it
// prints "ready". After "tell" on stdin it publishes the process context and prints "told". It ends
// when its stdin closes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "otel_publish.h"

__attribute__((visibility("default"))) __thread struct {
  uint64_t* slot;
  uint64_t* key;
  uint32_t hash;
  uint8_t record_offset;
  uint64_t undefined;
} otel_thread_ctx_nodejs_v1;

enum Writer { V16, V17, V19, V20 } writer;

enum Part {
  ALONE,
  COLLIDING,
  ABSENT,
  IDLE,
  CLOSED,
  UNSET,
  GARBAGE,
  REPLACED,
  CIRCLE,
  BEYOND,
  PARTS
};
static const char* const names[PARTS] = {"alone", "colliding", "absent",   "idle",   "closed",
                                         "unset", "garbage",   "replaced", "circle", "beyond"};

static uint64_t undefined_object[4];
static uint64_t undefined_word;

// V8 has these forms of a pointer to an object and of a small integer.
static uint64_t object(const void* at) { return (uint64_t)(uintptr_t)at + 1; }
static uint64_t small(int32_t value) { return (uint64_t)(uint32_t)value << 32; }

static unsigned char* make_record(enum Part part) {
  unsigned char* record = calloc(1, 64);
  for (int i = 0; i < 16; ++i) record[i] = (unsigned char)(i + 1);
  record[23] = (unsigned char)(0xb0 + part);
  record[24] = 1;
  const char route[] = "GET /pay";
  record[26] = sizeof route - 1 + 2;
  record[28] = 0;
  record[29] = sizeof route - 1;
  memcpy(record + 30, route, sizeof route - 1);
  return record;
}

// Makes the object that stands for the record, and what is between them.
static uint64_t* make_wrapper(unsigned char* record) {
  uint64_t* wrapper = calloc(8, sizeof *wrapper);
  if (writer == V16 || writer == V17) {
    uint64_t* native = calloc(8, sizeof *native);
    native[writer == V16 ? 3 : 0] = (uint64_t)(uintptr_t)record;
    wrapper[3] = (uint64_t)(uintptr_t)native;
  } else {
    wrapper[4] = (uint64_t)(uintptr_t)record;
  }
  return wrapper;
}

enum { BUCKETS = 4, HASH = 6 };  // so the bucket is 2

static uint64_t* make_map(enum Part part, uint64_t key, uint64_t value) {
  uint64_t* map = calloc(4, sizeof *map);
  uint64_t* table = calloc(64, sizeof *table);
  uint64_t* heads = table + 5;
  uint64_t* entries = heads + BUCKETS;
  map[3] = object(table);
  table[2] = small(2);  // elements, deleted, buckets
  table[3] = small(1);
  table[4] = small(BUCKETS);
  for (int i = 0; i < BUCKETS; ++i) heads[i] = small(-1);
  const int first = part == COLLIDING || part == CIRCLE ? 2 : 1;
  heads[HASH % BUCKETS] = small(first);
  entries[3 * 1] = part == ABSENT || part == CIRCLE ? key + 64 : key;
  entries[3 * 1 + 1] = value;
  entries[3 * 1 + 2] = small(part == CIRCLE ? 2 : -1);
  entries[3 * 2] = key + 128;  // another key's entry
  entries[3 * 2 + 1] = object(undefined_object);
  entries[3 * 2 + 2] = small(1);
  if (part == BEYOND) heads[HASH % BUCKETS] = small(3);
  if (part == REPLACED) table[2] = object(map);
  return map;
}

static pthread_barrier_t in_turn;

static void* work(void* argument) {
  const enum Part part = *(const enum Part*)argument;
  uint64_t* handle = calloc(1, sizeof *handle);
  uint64_t* frame = calloc(1, sizeof *frame);
  *handle = object(calloc(4, 8));
  const uint64_t value =
      part == UNSET ? object(undefined_object) : object(make_wrapper(make_record(part)));
  *frame = part == IDLE      ? object(undefined_object)
           : part == GARBAGE ? small(7)
                             : object(make_map(part, *handle, value));
  otel_thread_ctx_nodejs_v1.key = handle;
  otel_thread_ctx_nodejs_v1.hash = HASH;
  otel_thread_ctx_nodejs_v1.record_offset = writer == V20 ? 32 : 0;
  undefined_word = object(undefined_object);
  // Before 5.20 the writer publishes the address of the word.
  otel_thread_ctx_nodejs_v1.undefined =
      writer == V20 ? undefined_word : (uint64_t)(uintptr_t)&undefined_word;
  if (part != CLOSED) otel_thread_ctx_nodejs_v1.slot = frame;
  printf("{\"tid\":%ld,\"part\":\"%s\"}\n", syscall(SYS_gettid), names[part]);
  pthread_barrier_wait(&in_turn);
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
  return NULL;
}

static struct message payload(void) {
  static const char* const keys[] = {"http.route"};
  struct message message = {NULL, 0};
  const struct {
    const char* name;
    int64_t number;
    int writers;  // a bit for each writer
  } numbers[] = {{"threadlocal.tagged_size", 8, 7},
                 {"threadlocal.wrapped_object_offset", 24, 3},
                 {"threadlocal.native_wrap_fields_offset", 0, 2},
                 {"threadlocal.js_object_record_offset", 32, 4},
                 {"threadlocal.js_map_table_offset", 24, 6},
                 {"threadlocal.ordered_hash_map_header_size", 16, 6}};
  put_message(&message, 2, key_value("threadlocal.schema_version", text("nodejs_v1_dev")));
  put_message(&message, 2, key_value("threadlocal.attribute_key_map", array_of(keys, 1)));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (numbers[i].writers >> writer & 1) {
      put_message(&message, 2, key_value(numbers[i].name, number(numbers[i].number)));
    }
  }
  return message;
}

int main(int argc, char** argv) {
  static enum Part parts[PARTS];
  const char* version = argc > 1 ? argv[1] : "5.20";
  writer = strcmp(version, "5.16") == 0   ? V16
           : strcmp(version, "5.17") == 0 ? V17
           : strcmp(version, "5.19") == 0 ? V19
                                          : V20;
  if (argc < 3) publish(payload());
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < PARTS; ++i) {
    pthread_t thread;
    parts[i] = (enum Part)i;
    if (pthread_create(&thread, NULL, work, &parts[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "tell\n") != 0) continue;
    publish(payload());
    puts("told");
    fflush(stdout);
  }
  return 0;
}
