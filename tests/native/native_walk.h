/* What native_walk.c offers to the tests. */
#pragma once

#include "bpf/wire/wire.h"

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern long (*fake_probe_read_user)(void* out, __u32 size, __u64 address);
extern __u32 fake_thread_number;
extern char fake_thread_name[16];
extern bool fake_first_thread;
struct ls_preset_program;
extern const struct ls_preset_program* (*fake_preset)(__u32 number);

struct native_located {
  __u64 address;
  __u32 outcome;
  __u32 flags;
};
/* labelscope/bpf/locate.bpf.h */
struct native_located native_locate(const struct ls_tls_recipe* recipe, __u64 thread_pointer);

struct native_record {
  const void* bytes; /* a LABELS record, valid until the next call */
  __u32 size;
  __u64 fault_address; /* of the last read that failed, if fault_size is not 0 */
  __u64 fault_size;
};
/* Tests labelscope/read_labels.bpf.h on the same scratch each time, as in the kernel. */
struct native_record native_observe(const struct ls_recipes* recipes, __u64 thread_pointer,
                                    __u64 x28);
/* The number of the label set that native_observe() has read last (programs/label_number.bpf.h). */
__u64 native_label_number(struct ls_label_key key);
/* The number of these words, and what one round of its hash does. */
__u64 native_number_of_words(struct ls_label_key key, const __u64* words, __u32 count);
void native_sip_round(__u64 state[4]);
/* Remembers what native_observe() has read last (programs/remembered_reads.bpf.h). Returns false if
 * that is too much, or not the whole. */
bool native_remember(void);
/* Returns whether all that is remembered is still there. */
bool native_has_same_bytes(void);
__u32 native_remembered_ranges(void);
/* An address of a remembered range; any numbers will do. */
__u64 native_remembered_place(__u32 range, __u64 offset);
/* Fills the scratch with a byte, in place of what an earlier sample might have left. */
void native_soil(unsigned char byte);

#ifdef __cplusplus
}
#endif
