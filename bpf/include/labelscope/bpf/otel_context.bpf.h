/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of OpenTelemetry's thread context, otel_thread_ctx_v1. It is a pointer to a
 * packed record (the reader's otel_context/record.h draws it). Head and attributes go unchanged
 * into a raw block (label_blocks.h), because the process has the names of keys, and user space
 * knows them. otel_context.cc is the same walk in C++; tests/native compares the two. */
#ifndef LABELSCOPE_OTEL_CONTEXT_BPF_H
#define LABELSCOPE_OTEL_CONTEXT_BPF_H

#include "labelscope/bpf/label_room.bpf.h"

struct ls_otel_head {
  __u8 trace_id[16];
  __u8 span_id[8];
  __u8 valid; /* 1; with every other number it is no record */
  __u8 trace_flags;
  __u16 attribute_bytes;
};
LS_ASSERT(sizeof(struct ls_otel_head) == 28);
#define LS_MAX_OTEL_ATTRIBUTE_BYTES (LS_MAX_LABEL_BYTES - sizeof(struct ls_otel_head))

/* Returns whether the record has neither IDs nor attributes. */
static __always_inline _Bool ls_is_empty_otel_head(const struct ls_otel_head* head) {
  __u32 any = head->attribute_bytes;
  for (__u32 i = 0; i < sizeof(head->trace_id); i++) any |= head->trace_id[i];
  for (__u32 i = 0; i < sizeof(head->span_id); i++) any |= head->span_id[i];
  return any == 0;
}

static __always_inline __u32 ls_read_otel_record(const struct ls_memory* memory,
                                                 struct ls_labels* out, __u64 record,
                                                 __u32 publisher, __u32 source) {
  __u64 start = out->head.size;
  __u64 attributes = start + sizeof(struct ls_label_block) + sizeof(struct ls_otel_head);
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, start);
  struct ls_otel_head* head = (struct ls_otel_head*)(block + 1);

  record = LS_UNTAGGED(record);
  if (record == 0) return LS_UNLABELLED;
  if (!ls_read_user(memory, head, sizeof(*head), record)) return LS_UNREADABLE_NOT_RESIDENT;
  if (head->valid != 1 || ls_is_empty_otel_head(head)) return LS_UNLABELLED;

  __u64 size = head->attribute_bytes;
  if (size > LS_MAX_OTEL_ATTRIBUTE_BYTES) {
    size = LS_MAX_OTEL_ATTRIBUTE_BYTES;
    out->head.flags |= LS_TRUNCATED_BYTES;
  }
  ls_keep_together(size);
  if (size > LS_MAX_OTEL_ATTRIBUTE_BYTES) size = 0; /* for the verifier */
  if (size != 0 && !ls_read_user(memory, ls_at(out, attributes), size, record + sizeof(*head)))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  block = (struct ls_label_block*)ls_at(out, start);
  block->publisher = publisher;
  block->source = source;
  block->label_count = 0;
  block->byte_count = sizeof(*head) + size;
  ls_end_block(out, attributes + size);
  return LS_LABELLED;
}

static __always_inline __u32 ls_walk_otel_context(const struct ls_memory* memory,
                                                  struct ls_labels* out, __u64 variable,
                                                  __u32 publisher) {
  __u64 record = 0;

  if (!ls_read_user(memory, &record, sizeof(record), variable)) return LS_UNREADABLE_NOT_RESIDENT;
  return ls_read_otel_record(memory, out, record, publisher, LS_SOURCE_OTEL_CONTEXT);
}

#endif /* LABELSCOPE_OTEL_CONTEXT_BPF_H */
