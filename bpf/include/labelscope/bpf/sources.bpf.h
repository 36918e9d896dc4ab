/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each label source has one walk, from the address of the variable to a label block. Sources whose
 * labels are pairs of strings only find the pairs; ls_read_elements() makes their block. */
#ifndef LABELSCOPE_SOURCES_BPF_H
#define LABELSCOPE_SOURCES_BPF_H

#include "labelscope/bpf/custom_labels.bpf.h"
#include "labelscope/bpf/elastic_context.bpf.h"
#include "labelscope/bpf/go_labels.bpf.h"
#include "labelscope/bpf/node_context.bpf.h"
#include "labelscope/bpf/otel_context.bpf.h"
#include "labelscope/bpf/thread_context.bpf.h"
#include "labelscope/bpf/variable.bpf.h"
#include "labelscope/tls_recipe.h"

/* Appends the block of one publisher to `out`; or appends nothing, and returns the reason. */
static __always_inline __u32 ls_walk_source(const struct ls_memory* memory, struct ls_walk* walk,
                                            struct ls_go* go, struct ls_labels* out,
                                            const struct ls_tls_recipe* recipe, __u64 variable,
                                            __u32 publisher) {
  __u32 source = recipe->source;
  __u32 outcome;
  walk->flags = 0;
  switch (source) {
    case LS_SOURCE_CUSTOM_LABELS:
      outcome = ls_walk_labels(memory, walk, variable);
      break;
    case LS_SOURCE_THREAD_CONTEXT:
      return ls_walk_thread_context(memory, out, variable, publisher);
    case LS_SOURCE_OTEL_CONTEXT:
      return ls_walk_otel_context(memory, out, variable, publisher);
    case LS_SOURCE_GO:
      outcome = ls_walk_go(memory, walk, go, &out->head, recipe, variable);
      break;
    case LS_SOURCE_NODE:
      return ls_walk_node_context(memory, out, recipe, variable, publisher);
    case LS_SOURCE_ELASTIC:
      return ls_walk_elastic_context(memory, out, variable, publisher);
    case LS_SOURCE_VARIABLE:
      return ls_walk_variable(memory, out, (const struct ls_variable*)recipe->parameters, variable,
                              publisher);
    default:
      return LS_UNREADABLE_NO_RECIPE;
  }
  if (outcome == LS_LABELLED) outcome = ls_read_elements(memory, walk, out, publisher, source);
  out->head.flags |= walk->flags;
  return outcome;
}

#endif /* LABELSCOPE_SOURCES_BPF_H */
