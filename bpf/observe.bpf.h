/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All publishers of one process, for one thread: labelled if any publisher is, else the reason of
 * the first that is unreadable, else unlabelled. Wants bpf_probe_read_user() and ls_scratch_at().
 */
#ifndef LABELSCOPE_BPF_OBSERVE_BPF_H
#define LABELSCOPE_BPF_OBSERVE_BPF_H

#include "bpf/locate.bpf.h"
#include "bpf/walk_labels.bpf.h"

/* A record under construction, and what is needed for it: too large for the stack. The parts of
 * either record are contiguous, as they are sent. */
struct ls_scratch {
  __u64 last_wakeup_ns;
  __u64 retries; /* made so far: part of their ids */
  struct ls_process process;
  struct ls_walk walk;
  union {
    struct ls_sample_head sample;
    struct {
      __u8 unused[sizeof(struct ls_sample_head) - sizeof(struct ls_labels_head)];
      struct ls_labels_head answer;
    };
  };
  struct ls_labels labels;
};

static __always_inline struct ls_scratch* ls_scratch_at(__u32 index);

static __always_inline void ls_clear_labels(struct ls_labels* out) {
  out->head.flags = 0;
  out->head.outcome = LS_UNLABELLED;
  out->head.block_count = 0;
  out->head.size = 0;
  out->head.reserved = 0;
}

/* A function with arguments that the verifier knows nothing about, so that it looks at the walk
 * once and not in each of its callers' states (global functions: 5.6; only numbers as
 * arguments: 5.10). */
__attribute__((noinline)) __u32 ls_walk_publisher(__u32 index, __u64 variable, __u32 publisher) {
  struct ls_scratch* own = ls_scratch_at(index);
  if (!own) return LS_UNREADABLE_NOT_RESIDENT;
  return ls_walk_labels(&own->walk, &own->labels, variable, publisher);
}

/* Observes one thread of own->process; returns the outcome. Afterwards own->walk.fault.size says
 * whether a read failed. Global for the same reason. */
__attribute__((noinline)) __u32 ls_observe(__u32 index, __u64 thread_pointer) {
  struct ls_scratch* own = ls_scratch_at(index);
  if (!own) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_label_head* head = &own->labels.head;

  ls_clear_labels(&own->labels);
  own->walk.fault.size = 0;
  if (own->process.flags & LS_PROCESS_UNPLANNED) {
    head->outcome = LS_UNREADABLE_NOT_RELOCATED;
    return head->outcome;
  }
  for (__u32 i = 0; i < LS_MAX_PUBLISHERS; i++) {
    struct ls_located where;
    ls_reload();
    if (i >= own->process.recipe_count) break;
    ls_locate(&own->process.recipes[i], thread_pointer, &where, &own->walk.fault);
    head->flags |= where.flags;
    if (where.outcome == LS_LABELLED) where.outcome = ls_walk_publisher(index, where.address, i);
    if (where.outcome > LS_UNLABELLED) {
      head->flags |= LS_PARTLY_UNREADABLE;
      /* The first reason stands. */
      if (head->outcome == LS_UNLABELLED) head->outcome = where.outcome;
    }
  }
  if (head->block_count) {
    head->outcome = LS_LABELLED;
  } else {
    head->flags &= ~LS_PARTLY_UNREADABLE;
  }
  if (head->outcome != LS_UNLABELLED) head->flags &= ~LS_NEVER_TOUCHED;
  return head->outcome;
}

#endif /* LABELSCOPE_BPF_OBSERVE_BPF_H */
