/* This file publishes OpenTelemetry's process context: what the process is, and the names of its
 * threads' attributes.
 *
 *     /proc/PID/maps:  ... /memfd:OTEL_CTX        by this name a reader finds the header
 *
 *     header, 32 bytes, alone in its mapping      payloads[0]   published
 *       "OTEL_CTX"                                  message ProcessContext
 *       version 2, size of the payload            payloads[1]   free: the next one is written here
 *       published at ----- 0: being changed
 *       payload ----------------------------->    payloads[0]
 *
 * A reader is another process, and this one runs on meanwhile. It reads the time of publication,
 * the payload, and the time once more. If the times differ, or are 0, it begins anew. So a change
 * has five steps:
 *
 *     1. write all of the free payload       a reader that reads now reads the other one
 *     2. published at = 0                    from here on readers wait
 *     3. payload and size
 *     4. published at = now                  a time that was never there before
 *     5. name the mapping again              some readers watch that call, to notice changes
 *
 * Why there are two payloads, and not a new piece of memory each time. If step 4 were followed by
 * freeing the old one, a reader that has just read its address would read freed memory. Here the
 * old payload stays what it was until the change after the next, and its memory is never freed. The
 * two take no memory before they are used.
 *
 * There is no other state. A change copies what it keeps from the published payload: the attributes
 * if a name is added, the names if the attributes are replaced.
 *
 * Fork. The child does not inherit the header (MADV_DONTFORK), or readers would take the parent's
 * for the child's. It inherits the payloads, as all memory. The handlers below hold the mutex over
 * a fork, so that in the child the mutex is free and the state is whole, and they forget the header
 * in the child. */
/* MADV_DONTFORK and memory files exist on Linux only.
 * NOLINTNEXTLINE(bugprone-reserved-identifier): a name for libc. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "customlabels/otel_context.h"

#define API __attribute__((visibility("default")))

/* Only headers of Linux 5.17, 6.3 and newer have these. */
#if !defined(PR_SET_VMA)
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#if !defined(MFD_NOEXEC_SEAL)
#define MFD_NOEXEC_SEAL 8U
#endif

typedef otel_context_result_t result_t;

static const char kName[] = "OTEL_CTX";

typedef struct {
  char signature[8];
  uint32_t version;
  uint32_t size;
  uint64_t published_ns;
  const uint8_t* payload;
} header_t;
_Static_assert(sizeof(header_t) == 32, "the format's header");

/* A message, and the places of the two parts that a change may keep. */
typedef struct {
  uint8_t bytes[OTEL_CONTEXT_MAX_PAYLOAD];
  size_t size;
  size_t attributes_at, attributes_size; /* the content of the Resource */
  size_t names_at, names_size;           /* the content of the array of names */
  size_t names;
} payload_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static header_t* header; /* null if this process has none */
static pid_t owner;      /* the process that has made the header */
static uint64_t last_published_ns;
static bool forks_are_handled;
static payload_t payloads[2];
static size_t current; /* the payload that was published last, or is empty */

/* ---- the message, in protobuf's wire format
 *
 *   ProcessContext  1 Resource  2 KeyValue threadlocal.schema_version
 *                               2 KeyValue threadlocal.attribute_key_map
 *   Resource        1 KeyValue, for each attribute
 *   KeyValue        1 key       2 AnyValue
 *   AnyValue        1 string    5 ArrayValue
 *   ArrayValue      1 AnyValue, for each name
 *
 * Every field has a length, which comes first. So sizes are computed from inside to outside, and
 * bytes are written from outside to inside. */

static const char kSchemaKey[] = "threadlocal.schema_version";
static const char kSchema[] = "tlsdesc_v1_dev";
static const char kNamesKey[] = "threadlocal.attribute_key_map";

enum { kResourceField = 1, kThreadField = 2, kStringField = 1, kArrayField = 5 };

static size_t varint_size(size_t value) {
  size_t size = 1;
  while ((value >>= 7) != 0) size++;
  return size;
}
/* The size includes the tag, which is one byte for all fields here. */
static size_t field_size(size_t size) { return 1 + varint_size(size) + size; }
/* Returns the size of a KeyValue with a value of one field. */
static size_t pair_size(size_t key_size, size_t value_size) {
  return field_size(key_size) + field_size(field_size(value_size));
}

static void put_byte(payload_t* to, size_t byte) { to->bytes[to->size++] = (uint8_t)byte; }

/* Writes the head of a field; its bytes follow. */
static void put_field(payload_t* to, unsigned field, size_t size) {
  put_byte(to, field << 3 | 2);
  for (; size > 127; size >>= 7) put_byte(to, (size & 127) | 128);
  put_byte(to, size);
}
static void put_bytes(payload_t* to, const void* bytes, size_t size) {
  memcpy(to->bytes + to->size, bytes, size);
  to->size += size;
}
static void put_text(payload_t* to, unsigned field, const char* text, size_t size) {
  put_field(to, field, size);
  put_bytes(to, text, size);
}
/* Writes a KeyValue up to the bytes of its value. */
static void put_pair(payload_t* to, unsigned field, const char* key, size_t key_size,
                     unsigned value_field, size_t value_size) {
  put_field(to, field, pair_size(key_size, value_size));
  put_text(to, 1, key, key_size);
  put_field(to, 2, field_size(value_size));
  put_field(to, value_field, value_size);
}

/* Writes all but the attributes and the names, and leaves room for these. */
static result_t lay_out(payload_t* draft, size_t attributes_size, size_t names_size) {
  const size_t schema_key = sizeof(kSchemaKey) - 1;
  const size_t schema = sizeof(kSchema) - 1;
  const size_t names_key = sizeof(kNamesKey) - 1;
  const size_t size = field_size(attributes_size) + field_size(pair_size(schema_key, schema)) +
                      field_size(pair_size(names_key, names_size));
  if (size > sizeof(draft->bytes)) return OTEL_CONTEXT_PAYLOAD_TOO_LARGE;
  draft->size = 0;
  put_field(draft, kResourceField, attributes_size);
  draft->attributes_at = draft->size;
  draft->attributes_size = attributes_size;
  draft->size += attributes_size;
  put_pair(draft, kThreadField, kSchemaKey, schema_key, kStringField, schema);
  put_bytes(draft, kSchema, schema);
  put_pair(draft, kThreadField, kNamesKey, names_key, kArrayField, names_size);
  draft->names_at = draft->size;
  draft->names_size = names_size;
  draft->size += names_size;
  return OTEL_CONTEXT_OK;
}

/* ---- the mapping */

static header_t* map_header(int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
  void* at = mmap(NULL, sizeof(header_t), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) return NULL;
  if (madvise(at, sizeof(header_t), MADV_DONTFORK) == 0) return at;
  munmap(at, sizeof(header_t));
  return NULL;
}

/* glibc has a function for that since 2.27 only. */
static int make_memory_file(unsigned flags) {
  return (int)syscall(SYS_memfd_create, kName, flags);
}

/* Maps the header from a memory file, whose name is in the memory map on every kernel. Kernels
 * before 6.3 refuse the flag that the file will not be executed. */
static header_t* map_named_header(void) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = make_memory_file(flags | MFD_NOEXEC_SEAL);
  if (fd < 0) fd = make_memory_file(flags);
  if (fd < 0) return NULL;
  header_t* at = ftruncate(fd, sizeof(header_t)) == 0 ? map_header(fd) : NULL;
  close(fd);
  return at;
}

/* Memory files may be forbidden. Then only the name below is left, which not every kernel supports.
 */
static bool named_by_file;

/* A child of _Fork or clone, for which no handler ran, has the pointer but not the memory behind
 * it. */
static void forget_of_parent(void) {
  if (header != NULL && owner != getpid()) header = NULL;
}

static result_t make_header(void) {
  if (header != NULL) return OTEL_CONTEXT_OK;
  /* Without the handlers, a child would store to a header that it has not inherited. */
  if (!forks_are_handled) return OTEL_CONTEXT_NO_MAPPING;
  header_t* at = map_named_header();
  named_by_file = at != NULL;
  if (at == NULL) at = map_header(-1);
  if (at == NULL) return OTEL_CONTEXT_NO_MAPPING;
  at->version = 2; /* published_ns is 0, so no reader reads on */
  memcpy(at->signature, kName, sizeof(at->signature));
  header = at;
  owner = getpid();
  return OTEL_CONTEXT_OK;
}

static bool name_header(void) {
  return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)header, sizeof(*header),
               (unsigned long)kName) == 0;
}

/* ---- publishing */

/* Returns a time after all times that were published before, in this process and in its parents. */
static uint64_t next_time(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
  last_published_ns = ns > last_published_ns ? ns : last_published_ns + 1;
  return last_published_ns;
}

/* On every CPU, stores before the fence become visible before those after it. gcc's thread
 * sanitizer supports no fences, and knows no readers in other processes. */
static void fence(void) {
#if !defined(__SANITIZE_THREAD__)
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Does steps 2 to 5. Each release store comes after all that was stored before it. The fence at the
 * end is for the next change: its step 1 writes to the payload that this change withdraws. */
static result_t publish_payload(const payload_t* payload) {
  __atomic_store_n(&header->published_ns, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&header->payload, payload->bytes, __ATOMIC_RELEASE);
  __atomic_store_n(&header->size, (uint32_t)payload->size, __ATOMIC_RELEASE);
  __atomic_store_n(&header->published_ns, next_time(), __ATOMIC_RELEASE);
  fence();
  return name_header() || named_by_file ? OTEL_CONTEXT_OK : OTEL_CONTEXT_UNNAMED;
}

/* Makes the payload that was written the current one. */
static result_t publish_draft(payload_t* draft) {
  const result_t result = make_header();
  if (result != OTEL_CONTEXT_OK) return result;
  current = (size_t)(draft - payloads);
  return publish_payload(draft);
}

static payload_t* free_payload(void) { return &payloads[1 - current]; }

/* ---- attributes */

/* Returns the number of bytes of a text, or SIZE_MAX if there are more than a reader accepts. */
static size_t text_size(const char* text) {
  const size_t size = strnlen(text, OTEL_CONTEXT_MAX_TEXT + 1);
  return size > OTEL_CONTEXT_MAX_TEXT ? SIZE_MAX : size;
}

/* Computes how many bytes the attributes take in the message. */
static result_t measure(const otel_process_attribute_t* attributes, size_t count, size_t* size) {
  if (attributes == NULL && count > 0) return OTEL_CONTEXT_BAD_ARGUMENT;
  *size = 0;
  for (size_t i = 0; i < count; i++) {
    const otel_process_attribute_t* one = &attributes[i];
    if (one->key == NULL || one->value == NULL || one->key[0] == '\0')
      return OTEL_CONTEXT_BAD_ARGUMENT;
    const size_t key_size = text_size(one->key);
    const size_t value_size = text_size(one->value);
    if (key_size == SIZE_MAX || value_size == SIZE_MAX) return OTEL_CONTEXT_TEXT_TOO_LONG;
    *size += field_size(pair_size(key_size, value_size));
    if (*size > OTEL_CONTEXT_MAX_PAYLOAD) return OTEL_CONTEXT_PAYLOAD_TOO_LARGE;
  }
  return OTEL_CONTEXT_OK;
}

static void put_attributes(payload_t* draft, const otel_process_attribute_t* attributes,
                           size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t value_size = strlen(attributes[i].value);
    put_pair(draft, 1, attributes[i].key, strlen(attributes[i].key), kStringField, value_size);
    put_bytes(draft, attributes[i].value, value_size);
  }
}

static void copy_names(payload_t* to, const payload_t* from) {
  memcpy(to->bytes + to->names_at, from->bytes + from->names_at, from->names_size);
  to->names = from->names;
}
static void copy_attributes(payload_t* to, const payload_t* from) {
  memcpy(to->bytes + to->attributes_at, from->bytes + from->attributes_at, from->attributes_size);
}

static result_t replace_attributes(payload_t* draft, const otel_process_attribute_t* attributes,
                                   size_t count, size_t size) {
  const result_t result = lay_out(draft, size, payloads[current].names_size);
  if (result != OTEL_CONTEXT_OK) return result;
  copy_names(draft, &payloads[current]);
  const size_t end = draft->size;
  draft->size = draft->attributes_at;
  put_attributes(draft, attributes, count);
  draft->size = end;
  return OTEL_CONTEXT_OK;
}

API result_t otel_process_context_publish(const otel_process_attribute_t* attributes,
                                          size_t count) {
  size_t size = 0;
  result_t result = measure(attributes, count, &size);
  if (result != OTEL_CONTEXT_OK) return result;
  pthread_mutex_lock(&mutex);
  forget_of_parent();
  payload_t* draft = free_payload();
  result = replace_attributes(draft, attributes, count, size);
  if (result == OTEL_CONTEXT_OK) result = publish_draft(draft);
  pthread_mutex_unlock(&mutex);
  return result;
}

/* ---- names of the threads' attributes */

/* Reads a length that put_field wrote; *at is then behind it. */
static size_t take_length(const uint8_t** at) {
  size_t value = 0;
  unsigned shift = 0;
  do {
    value |= (size_t)(**at & 127) << shift;
    shift += 7;
  } while ((*(*at)++ & 128) != 0);
  return value;
}

/* Returns the number of the name, or the number of names if it is not there. */
static size_t find_name(const payload_t* payload, const char* name, size_t size) {
  const uint8_t* at = payload->bytes + payload->names_at;
  for (size_t i = 0; i < payload->names; i++) {
    at++; /* the tag of the AnyValue */
    take_length(&at);
    at++; /* the tag of its string */
    const size_t length = take_length(&at);
    if (length == size && memcmp(at, name, size) == 0) return i;
    at += length;
  }
  return payload->names;
}

static result_t add_name(payload_t* draft, const char* name, size_t size) {
  const payload_t* from = &payloads[current];
  if (from->names == OTEL_CONTEXT_MAX_KEYS) return OTEL_CONTEXT_TOO_MANY_KEYS;
  const size_t added = field_size(field_size(size));
  const result_t result = lay_out(draft, from->attributes_size, from->names_size + added);
  if (result != OTEL_CONTEXT_OK) return result;
  copy_attributes(draft, from);
  copy_names(draft, from);
  draft->size -= added;
  put_field(draft, 1, field_size(size));
  put_text(draft, kStringField, name, size);
  draft->names++;
  return OTEL_CONTEXT_OK;
}

/* A known name is published again only if the process has no context, after a fork. */
static result_t publish_name(const char* name, size_t size, size_t* index) {
  payload_t* known = &payloads[current];
  *index = find_name(known, name, size);
  if (*index < known->names) return header == NULL ? publish_draft(known) : OTEL_CONTEXT_OK;
  payload_t* draft = free_payload();
  const result_t result = add_name(draft, name, size);
  return result == OTEL_CONTEXT_OK ? publish_draft(draft) : result;
}

API result_t otel_process_context_key(const char* name, uint8_t* index) {
  if (name == NULL || name[0] == '\0' || index == NULL) return OTEL_CONTEXT_BAD_ARGUMENT;
  const size_t size = text_size(name);
  if (size == SIZE_MAX) return OTEL_CONTEXT_TEXT_TOO_LONG;
  pthread_mutex_lock(&mutex);
  forget_of_parent();
  size_t number = 0;
  const result_t result = publish_name(name, size, &number);
  pthread_mutex_unlock(&mutex);
  if (result == OTEL_CONTEXT_OK || result == OTEL_CONTEXT_UNNAMED) *index = (uint8_t)number;
  return result;
}

/* ---- the end */

API void otel_process_context_withdraw(void) {
  pthread_mutex_lock(&mutex);
  forget_of_parent();
  if (header != NULL) {
    /* Readers that have found the header see that it is withdrawn. */
    __atomic_store_n(&header->published_ns, 0, __ATOMIC_RELEASE);
    munmap(header, sizeof(*header));
    header = NULL;
  }
  payload_t* draft = free_payload();
  /* This cannot fail for want of room: it is less than what was there. */
  if (replace_attributes(draft, NULL, 0, 0) == OTEL_CONTEXT_OK) current = 1 - current;
  pthread_mutex_unlock(&mutex);
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork(void) { pthread_mutex_unlock(&mutex); }
static void in_child(void) {
  header = NULL;
  pthread_mutex_unlock(&mutex);
}

/* This happens when the library is loaded, because a fork in the middle of the first call must run
 * the handlers. */
__attribute__((constructor)) static void handle_forks(void) {
  forks_are_handled = pthread_atfork(before_fork, after_fork, in_child) == 0;
}
