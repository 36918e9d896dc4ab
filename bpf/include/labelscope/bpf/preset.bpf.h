/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the run of a preset's program (labelscope/preset_walk.h) needs of the kernel: how memory is
 * read, and where its labels go. They become one raw block. */
#ifndef LABELSCOPE_PRESET_BPF_H
#define LABELSCOPE_PRESET_BPF_H

#include "labelscope/bpf/label_room.bpf.h"
#include "labelscope/preset_program.h"
#include "labelscope/tls_recipe.h"

struct ls_preset_host {
  const struct ls_memory* memory;
  struct ls_labels* out;
};

static __always_inline int ls_preset_address(struct ls_preset_host* host, __u64* address) {
  (void)host;
  *address = LS_UNTAGGED(*address);
  return *address < LS_ADDRESS_END;
}

static __always_inline int ls_preset_read(struct ls_preset_host* host, void* out, __u32 size,
                                          __u64 address) {
  return ls_read_user(host->memory, out, size, address);
}

static __always_inline long ls_preset_read_text(struct ls_preset_host* host, __u8* out,
                                                __u64 address) {
  return ls_read_text(host->memory, out, address);
}

static __always_inline void ls_preset_copy(__u8* out, const __u8* from, __u32 size) {
  bpf_probe_read_kernel(out, size, from);
}

static __always_inline __u8* ls_preset_room(struct ls_preset_host* host, __u64 used) {
  return ls_at(host->out, host->out->head.size + sizeof(struct ls_label_block) + used);
}

static __always_inline __u32 ls_preset_thread_number(struct ls_preset_host* host) {
  return ls_own_number(host->memory);
}

static __always_inline int ls_preset_thread_name(struct ls_preset_host* host, __u8* out) {
  ls_depend_on_more(host->memory); /* a thread may change its name */
  return ls_own_name(host->memory, out);
}

/* It uses these functions. */
#include "labelscope/preset_walk.h"

/* Prepares the run of a recipe's program. */
static __always_inline void ls_begin_preset(struct ls_preset_run* run,
                                            const struct ls_preset_program* program, __u64 located,
                                            __u64 thread_pointer) {
  /* It is too large for the compiler to copy. */
  bpf_probe_read_kernel(&run->program, sizeof(run->program), program);
  ls_preset_begin(run, located, thread_pointer);
}

/* Makes a block of the labels that a run has emitted. */
static __always_inline __u32 ls_end_preset(struct ls_labels* out, const struct ls_preset_run* run,
                                           const struct ls_tls_recipe* recipe, __u32 publisher) {
  __u64 start = out->head.size;
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, start);
  struct ls_preset_labels* labels = (struct ls_preset_labels*)(block + 1);
  __u32 outcome = ls_preset_outcome(run);

  out->head.flags |= run->flags;
  if (outcome != LS_LABELLED) return outcome;
  block->publisher = publisher;
  block->source = LS_SOURCE_PRESET;
  block->label_count = 0;
  block->byte_count = run->used;
  labels->preset = ((const struct ls_preset_recipe*)recipe->parameters)->preset;
  labels->count = run->count;
  ls_end_block(out, start + sizeof(*block) + run->used);
  return LS_LABELLED;
}

#endif /* LABELSCOPE_PRESET_BPF_H */
