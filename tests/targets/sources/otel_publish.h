// OpenTelemetry's process context (OTEP 4719) and record (OTEP 4947), written by the documents, for
// test programs.
#ifndef LABELSCOPE_TESTS_OTEL_PUBLISH_H
#define LABELSCOPE_TESTS_OTEL_PUBLISH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct header {
  char signature[8];
  uint32_t version;
  uint32_t size;
  uint64_t published_ns;
  const unsigned char* payload;
};
static struct header* context;

// This is the largest size that a test needs.
struct otel_record {
  unsigned char trace[16];
  unsigned char span[8];
  uint8_t valid;
  uint8_t flags;
  uint16_t size;
  unsigned char attributes[6000];
};
static inline void add(struct otel_record* record, int key, const char* value, size_t length) {
  unsigned char* at = record->attributes + record->size;
  at[0] = (unsigned char)key;
  at[1] = (unsigned char)length;
  memcpy(at + 2, value, length);
  record->size = (uint16_t)(record->size + 2 + length);
}
static inline void add_text(struct otel_record* record, int key, const char* value) {
  add(record, key, value, strlen(value));
}

struct message {
  unsigned char* bytes;
  size_t size;
};

static inline void put(struct message* to, const void* bytes, size_t size) {
  to->bytes = realloc(to->bytes, to->size + size);
  memcpy(to->bytes + to->size, bytes, size);
  to->size += size;
}
static inline void put_varint(struct message* to, uint64_t value) {
  do {
    const unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
    put(to, &byte, 1);
    value >>= 7;
  } while (value != 0);
}
static inline void put_field(struct message* to, unsigned field, const void* bytes, size_t size) {
  put_varint(to, field << 3 | 2);
  put_varint(to, size);
  put(to, bytes, size);
}
static inline void put_message(struct message* to, unsigned field, struct message message) {
  put_field(to, field, message.bytes, message.size);
  free(message.bytes);
}
static inline struct message text(const char* value) {
  struct message message = {NULL, 0};
  put_field(&message, 1, value, strlen(value));
  return message;
}
static inline struct message key_value(const char* key, struct message value) {
  struct message message = {NULL, 0};
  put_field(&message, 1, key, strlen(key));
  put_message(&message, 2, value);
  return message;
}

static inline struct message number(int64_t value) {
  struct message message = {NULL, 0};
  put_varint(&message, 3 << 3);
  put_varint(&message, (uint64_t)value);
  return message;
}
static inline struct message array_of(const char* const* texts, int count) {
  struct message values = {NULL, 0}, array = {NULL, 0};
  for (int i = 0; i < count; ++i) put_message(&values, 1, text(texts[i]));
  put_message(&array, 5, values);
  return array;
}

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// Replaces the context by this message, or makes the first one.
static inline void publish(struct message message) {
  if (context == NULL) {
    const int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, sizeof *context) != 0) exit(2);
    context = mmap(NULL, sizeof *context, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (context == MAP_FAILED) exit(2);
    madvise(context, sizeof *context, MADV_DONTFORK);
    context->version = 2;
  }
  const uint64_t before = context->published_ns;
  __atomic_store_n(&context->published_ns, 0, __ATOMIC_SEQ_CST);
  free((void*)context->payload);
  context->payload = message.bytes;
  context->size = (uint32_t)message.size;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  memcpy(context->signature, "OTEL_CTX", 8);
  const uint64_t now = now_ns();
  __atomic_store_n(&context->published_ns, now == before ? now + 1 : now, __ATOMIC_SEQ_CST);
  prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, context, sizeof *context, "OTEL_CTX");
}

#endif
