/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of Elastic APM's correlation, elastic_apm_profiling_correlation_tls_v1. It is a
 * pointer to 37 packed bytes (the reader's elastic_context.h draws them), which go unchanged into a
 * raw block (label_blocks.h). elastic_context.cc is the same walk in C++; tests/native compares the
 * two. */
#ifndef LABELSCOPE_ELASTIC_CONTEXT_BPF_H
#define LABELSCOPE_ELASTIC_CONTEXT_BPF_H

#include "labelscope/bpf/label_room.bpf.h"

struct ls_elastic_context {
  __u8 version[2];
  __u8 valid; /* 0 while the thread writes it */
  __u8 trace_present;
  __u8 trace_flags;
  __u8 ids[32]; /* trace, span, transaction */
};
LS_ASSERT(sizeof(struct ls_elastic_context) == 37);

static __always_inline __u32 ls_walk_elastic_context(const struct ls_memory* memory,
                                                     struct ls_labels* out, __u64 variable,
                                                     __u32 publisher) {
  __u64 start = out->head.size;
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, start);
  struct ls_elastic_context* context = (struct ls_elastic_context*)(block + 1);
  __u64 address = 0;
  __u32 any = 0;

  if (!ls_read_user(memory, &address, sizeof(address), variable)) return LS_UNREADABLE_NOT_RESIDENT;
  address = LS_UNTAGGED(address);
  if (address == 0) return LS_UNLABELLED;
  if (!ls_read_user(memory, context, sizeof(*context), address)) return LS_UNREADABLE_NOT_RESIDENT;
  if (context->valid == 0 || context->trace_present != 1) return LS_UNLABELLED;
  for (__u32 i = 0; i < sizeof(context->ids); i++) any |= context->ids[i];
  if (any == 0) return LS_UNLABELLED;
  block->publisher = publisher;
  block->source = LS_SOURCE_ELASTIC;
  block->label_count = 0;
  block->byte_count = sizeof(*context);
  ls_end_block(out, start + sizeof(*block) + sizeof(*context));
  return LS_LABELLED;
}

#endif /* LABELSCOPE_ELASTIC_CONTEXT_BPF_H */
