/* The kernel side's locate and walk, compiled for the host. */
#include "native_walk.h"

#include "fake_bpf.h"

// The helpers must be declared before the code that uses them.
#include "bpf/wire/wire.h"
#define LS_WITH_PRESETS
#define LS_WITH_READ_LOG
#include "bpf/programs/label_number.bpf.h"
#include "bpf/programs/remembered_reads.bpf.h"

long (*fake_probe_read_user)(void* out, __u32 size, __u64 address);
__u32 fake_thread_number;
char fake_thread_name[16];
_Bool fake_first_thread;
const struct ls_preset_program* (*fake_preset)(__u32 number);

static struct {
  struct ls_labels_head answer;
  struct ls_reading reading;
  struct ls_numbering numbering;
} scratch;

static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
  return index == 0 ? &scratch.reading : 0;
}

static __always_inline const struct ls_preset_program* ls_preset_at(__u32 preset) {
  return fake_preset(preset);
}

struct native_located native_locate(const struct ls_tls_recipe* recipe, __u64 thread_pointer) {
  struct ls_fault fault = {0, 0};
  struct ls_memory memory = {.fault = &fault};
  struct ls_located where;
  ls_locate(&memory, recipe, thread_pointer, 0, &where);
  return (struct native_located){where.address, where.outcome, where.flags};
}

struct native_record native_observe(const struct ls_recipes* recipes, __u64 thread_pointer,
                                    __u64 x28) {
  scratch.reading.recipes = *recipes;
  scratch.reading.x28 = x28;
  ls_begin_log(&scratch.reading.log, 1);
  ls_read_labels(0, thread_pointer);
  scratch.answer.retry_id = 1;
  scratch.answer.record.type = LS_RECORD_LABELS;
  scratch.answer.record.size = sizeof(scratch.answer) + sizeof(scratch.reading.labels.head) +
                               scratch.reading.labels.head.size;
  return (struct native_record){&scratch.answer, scratch.answer.record.size,
                                scratch.reading.fault.address, scratch.reading.fault.size};
}

__u64 native_label_number(struct ls_label_key key) {
  static const struct ls_key_choice all;
  return ls_number_by(&scratch.reading.labels, &scratch.numbering, key, 4711, 3, &all);
}

__u64 native_number_of_words(struct ls_label_key key, const __u64* words, __u32 count) {
  struct ls_sip sip = ls_sip_begin(key);
  for (__u32 i = 0; i < count; i++) ls_sip_add(&sip, words[i]);
  return ls_sip_end(sip);
}

void native_sip_round(__u64 state[4]) {
  struct ls_sip sip = {state[0], state[1], state[2], state[3]};
  ls_sip_round(&sip);
  memcpy(state, &sip, sizeof(sip));
}

static struct ls_image image;

bool native_remember(void) {
  return scratch.reading.fault.size == 0 && ls_make_image(&image, &scratch.reading.log);
}

bool native_has_same_bytes(void) { return ls_has_same_bytes(&image.what, &scratch.reading.log); }

__u32 native_remembered_ranges(void) { return image.what.range_count; }

__u64 native_remembered_place(__u32 range, __u64 offset) {
  const struct ls_range* one = &image.what.ranges[range % image.what.range_count];
  return one->address + offset % one->size;
}

void native_soil(unsigned char byte) { memset(&scratch, byte, sizeof(scratch)); }
