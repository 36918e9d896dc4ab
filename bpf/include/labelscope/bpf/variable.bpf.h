/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of a variable that the user has named (labelscope/variable_type.h):
 * from its address to a raw block with the bytes of its value. The reader's
 * sources/variable/variable.cc is the same walk and explains each outcome; tests/native compares
 * the two. */
#ifndef LABELSCOPE_VARIABLE_BPF_H
#define LABELSCOPE_VARIABLE_BPF_H

#include "labelscope/bpf/label_room.bpf.h"
#include "labelscope/variable_type.h"

/* Reads a pointer as the program has it. Returns the outcome if that ends the walk. */
static __always_inline __u32 ls_follow(__u64* pointer) {
  if (*pointer == 0) return LS_UNLABELLED;
  *pointer = LS_UNTAGGED(*pointer);
  return *pointer < LS_ADDRESS_END ? LS_LABELLED : LS_UNREADABLE_MALFORMED;
}

static __always_inline __u32 ls_end_variable(struct ls_labels* out,
                                             const struct ls_variable* variable, __u32 publisher,
                                             __u64 size) {
  __u64 start = out->head.size;
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, start);
  struct ls_variable_value* value = (struct ls_variable_value*)(block + 1);

  block->publisher = publisher;
  block->source = LS_SOURCE_VARIABLE;
  block->label_count = 0;
  block->byte_count = sizeof(*value) + size;
  value->kind = variable->kind;
  value->index = variable->index;
  value->reserved = 0;
  value->size = size;
  ls_end_block(out, start + sizeof(*block) + sizeof(*value) + size);
  return LS_LABELLED;
}

/* Reads text with a NUL behind it, in place or behind a pointer, to the cursor `bytes`. */
static __always_inline __u32 ls_read_cstring(const struct ls_memory* memory, struct ls_labels* out,
                                             const struct ls_variable* variable, __u64 address,
                                             __u32 publisher, __u8* bytes) {
  __u64 text = address;

  if (variable->kind == LS_VARIABLE_CSTRING) {
    if (!ls_read_user(memory, &text, sizeof(text), address)) return LS_UNREADABLE_NOT_RESIDENT;
    __u32 outcome = ls_follow(&text);
    if (outcome != LS_LABELLED) return outcome;
  }
  long size = ls_read_text(memory, bytes, text);
  if (size <= 0) return LS_UNREADABLE_NOT_RESIDENT;
  if (size > LS_TEXT_SIZE) {
    size = LS_TEXT_SIZE;
    out->head.flags |= LS_TRUNCATED_BYTES;
  }
  return ls_end_variable(out, variable, publisher, size);
}

static __always_inline __u32 ls_read_slice(const struct ls_memory* memory, struct ls_labels* out,
                                           const struct ls_variable* variable, __u64 address,
                                           __u32 publisher, __u8* bytes) {
  struct {
    __u64 pointer;
    __u64 size;
  } slice = {};
  __u32 flags = 0;

  if (!ls_read_user(memory, &slice, sizeof(slice), address)) return LS_UNREADABLE_NOT_RESIDENT;
  __u64 text = variable->kind == LS_VARIABLE_VIEW ? slice.size : slice.pointer;
  __u64 size = variable->kind == LS_VARIABLE_VIEW ? slice.pointer : slice.size;
  __u32 outcome = ls_follow(&text);
  if (outcome != LS_LABELLED) return outcome;
  if (size >= LS_ADDRESS_END) return LS_UNREADABLE_MALFORMED;
  if (size > LS_VARIABLE_MAX_BYTES) flags = LS_TRUNCATED_BYTES;
  ls_keep_together(size);
  if (size > LS_VARIABLE_MAX_BYTES) size = LS_VARIABLE_MAX_BYTES;
  out->head.flags |= flags;
  if (size != 0 && !ls_read_user(memory, bytes, size, text)) return LS_UNREADABLE_NOT_RESIDENT;
  return ls_end_variable(out, variable, publisher, size);
}

static __always_inline __u32 ls_walk_variable(const struct ls_memory* memory, struct ls_labels* out,
                                              const struct ls_variable* variable, __u64 address,
                                              __u32 publisher) {
  __u64 head = sizeof(struct ls_label_block) + sizeof(struct ls_variable_value);
  __u8* bytes = ls_at(out, out->head.size) + head;

  address += variable->offset[0];
  for (__u32 hop = 1; hop <= LS_VARIABLE_HOPS; hop++) {
    __u64 pointer = 0;
    if (hop > variable->hops) break;
    if (!ls_read_user(memory, &pointer, sizeof(pointer), address))
      return LS_UNREADABLE_NOT_RESIDENT;
    __u32 outcome = ls_follow(&pointer);
    if (outcome != LS_LABELLED) return outcome;
    address = pointer + variable->offset[hop];
  }
  if (variable->kind == LS_VARIABLE_CSTRING || variable->kind == LS_VARIABLE_TEXT)
    return ls_read_cstring(memory, out, variable, address, publisher, bytes);
  if (variable->kind == LS_VARIABLE_SLICE || variable->kind == LS_VARIABLE_VIEW)
    return ls_read_slice(memory, out, variable, address, publisher, bytes);
  __u64 size = variable->size;
  ls_keep_together(size);
  if (size > LS_VARIABLE_MAX_BYTES) size = LS_VARIABLE_MAX_BYTES;
  if (size != 0 && !ls_read_user(memory, bytes, size, address)) return LS_UNREADABLE_NOT_RESIDENT;
  return ls_end_variable(out, variable, publisher, size);
}

#endif /* LABELSCOPE_VARIABLE_BPF_H */
