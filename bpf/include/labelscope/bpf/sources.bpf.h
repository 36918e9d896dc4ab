/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The label sources: one walk each, from the address of the variable to a label block. */
#ifndef LABELSCOPE_SOURCES_BPF_H
#define LABELSCOPE_SOURCES_BPF_H

#include "labelscope/bpf/custom_labels.bpf.h"
#include "labelscope/bpf/otel_context.bpf.h"
#include "labelscope/bpf/thread_context.bpf.h"
#include "labelscope/bpf/variable.bpf.h"
#include "labelscope/tls_recipe.h"

/* Appends the block of one publisher to `out`; or nothing, and says why. */
static __always_inline __u32 ls_walk_source(const struct ls_memory* memory, struct ls_walk* walk,
                                            struct ls_labels* out, __u32 source, __u64 variable,
                                            __u32 publisher, const __u64* parameters) {
  switch (source) {
    case LS_SOURCE_CUSTOM_LABELS:
      return ls_walk_labels(memory, walk, out, variable, publisher);
    case LS_SOURCE_THREAD_CONTEXT:
      return ls_walk_thread_context(memory, out, variable, publisher);
    case LS_SOURCE_OTEL_CONTEXT:
      return ls_walk_otel_context(memory, out, variable, publisher);
    case LS_SOURCE_VARIABLE:
      return ls_walk_variable(memory, out, (const struct ls_variable*)parameters, variable,
                              publisher);
    default:
      return LS_UNREADABLE_NO_RECIPE;
  }
}

#endif /* LABELSCOPE_SOURCES_BPF_H */
