/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of the thread context: 64 bytes in the thread's TLS block itself
 * (customlabels/thread_context.h). A whole record goes unchanged into a raw block (label_blocks.h),
 * and user space makes labels of it. The reader's thread_context.cc explains how a torn record is
 * detected; tests/native compares the two. */
#ifndef LABELSCOPE_THREAD_CONTEXT_BPF_H
#define LABELSCOPE_THREAD_CONTEXT_BPF_H

#include "labelscope/bpf/label_room.bpf.h"

struct ls_thread_context {
  __u64 span_id;
  __u64 root_span_id;
  __u64 checksum; /* 0 if there is no context, or one that is being written */
  __u32 tags[10];
};
LS_ASSERT(sizeof(struct ls_thread_context) == 64);

static __always_inline __u64 ls_checksum_of(const struct ls_thread_context* context) {
  const __u64 multiplier = 0x9E3779B97F4A7C15ULL;
  __u64 swapped = context->root_span_id << 32 | context->root_span_id >> 32;
  __u64 hash = context->span_id * multiplier ^ swapped * multiplier;
  return hash ? hash : ~0ULL;
}

static __always_inline __u32 ls_walk_thread_context(const struct ls_memory* memory,
                                                    struct ls_labels* out, __u64 variable,
                                                    __u32 publisher) {
  __u64 start = out->head.size;
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, start);
  struct ls_thread_context* context = (struct ls_thread_context*)(block + 1);

  if (!ls_read_user(memory, context, sizeof(*context), variable)) return LS_UNREADABLE_NOT_RESIDENT;
  if (context->checksum == 0)
    return context->span_id | context->root_span_id ? LS_UNREADABLE_TORN : LS_UNLABELLED;
  if (context->checksum != ls_checksum_of(context)) return LS_UNREADABLE_TORN;
  block->publisher = publisher;
  block->source = LS_SOURCE_THREAD_CONTEXT;
  block->label_count = 0;
  block->byte_count = sizeof(*context);
  ls_end_block(out, start + sizeof(*block) + sizeof(*context));
  return LS_LABELLED;
}

#endif /* LABELSCOPE_THREAD_CONTEXT_BPF_H */
