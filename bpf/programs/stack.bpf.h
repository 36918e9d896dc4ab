/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These functions take the stack of a sample. Each way to take the user's part is a function here
 * (or in a header of its own) and a line in ls_take_user_stack(). It appends its frames, leaf
 * first, and sets the end. What comes behind it in there may add frames of other kinds (stack.h)
 * to those that it has found. ls_stack_on_fork() and ls_stack_on_exit() update what is kept for
 * each process. */
#ifndef LABELSCOPE_BPF_STACK_BPF_H
#define LABELSCOPE_BPF_STACK_BPF_H

#include <linux/bpf_perf_event.h>

#include "bpf/programs/maps.bpf.h"
#include "bpf/programs/user_registers.bpf.h"
#ifdef LS_WITH_UNWIND
#include "bpf/programs/unwind.bpf.h"
#else
/* Without call frame information there is nothing to keep for a process. */
#define ls_unwind_by_tables(registers, slot, own) ((void)(registers), (void)(slot))
#define ls_unwind_on_fork(parent, parent_life, child, child_life) \
  ((void)(parent), (void)(parent_life), (void)(child), (void)(child_life))
#define ls_unwind_on_exit(pid) (void)(pid)
#endif

/* Lets the kernel append one of its two stacks behind labels and user frames; returns the number of
 * frames. */
static __always_inline __u32 ls_append_stack(void* ctx, struct ls_slot slot, struct ls_scratch* own,
                                             __u64 flags, __u32 failed) {
  __u64 at = own->reading.labels.head.size + 8ULL * own->sample.stack.user_frames;
  if (at > LS_BLOCKS_LIMIT + LS_MAX_USER_FRAMES * sizeof(__u64)) return 0; /* for the verifier */
  long size =
      bpf_get_stack(ctx, own->reading.labels.blocks + at, LS_MAX_FRAMES * sizeof(__u64), flags);
  if (size < 0) {
    ls_count(slot, failed);
    return 0;
  }
  return size / sizeof(__u64);
}

static __always_inline void ls_end_chain(struct ls_scratch* own, __u32 frames) {
  own->sample.stack.user_frames = frames;
  own->sample.stack.end = frames == 0               ? LS_STACK_MISSING
                          : frames == LS_MAX_FRAMES ? LS_STACK_TOO_DEEP
                                                    : LS_STACK_CHAIN_ENDED;
}

/* Without an event, the kernel starts at the registers that it has saved of the current thread. */
static __always_inline __u32 ls_append_own_stack(struct ls_scratch* own) {
  __u64 at = own->reading.labels.head.size;
  if (at > LS_BLOCKS_LIMIT) return 0; /* for the verifier */
  long size = bpf_get_task_stack(bpf_get_current_task_btf(), own->reading.labels.blocks + at,
                                 LS_MAX_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
  if (size < 0) ls_count_other(LS_COUNT_USER_STACK_FAILED);
  return size < 0 ? 0 : size / sizeof(__u64);
}

/* `ctx` is the program's context, for the kernel's helpers, if it was started `by_event`.
 * `registers` are those of the code that the event has interrupted, in user mode or in the kernel.
 * They are null if it interrupts nothing, and then only the kernel's saved ones exist. */
static __always_inline void ls_take_user_stack(_Bool by_event, void* ctx,
                                               const bpf_user_pt_regs_t* registers,
                                               struct ls_slot slot, struct ls_scratch* own) {
  own->sample.stack = (struct ls_stack_head){};
  own->sample.list = 0;
  if (config.call_graph == LS_CALL_GRAPH_NONE) return;
  /* The registers of one of io_uring's threads are those that its creator had. Nothing of its stack
   * is missing. */
  own->sample.stack.end = own->is_worker ? LS_STACK_ROOT : LS_STACK_MISSING;
  if (own->is_worker || own->ended) return;
  if (config.call_graph == LS_CALL_GRAPH_FP) {
    ls_end_chain(own, by_event ? ls_append_stack(ctx, slot, own, BPF_F_USER_STACK,
                                                 LS_COUNT_USER_STACK_FAILED)
                               : ls_append_own_stack(own));
  } else if (config.call_graph == LS_CALL_GRAPH_DWARF) {
    own->sample.stack.has_kinds = 1;
    ls_unwind_by_tables(registers, slot, own);
  }
}

static __always_inline void ls_take_stack(void* ctx, const bpf_user_pt_regs_t* registers,
                                          struct ls_slot slot, struct ls_scratch* own) {
  ls_take_user_stack(1, ctx, registers, slot, own);
  /* An event that comes in user mode has interrupted no function of the kernel. */
  if (config.kernel_stacks && !(registers && LS_IS_USER(LS_MODE(registers))))
    own->sample.stack.kernel_frames =
        ls_append_stack(ctx, slot, own, 0, LS_COUNT_KERNEL_STACK_FAILED);
}

/* Takes the user's part of the current thread's stack, outside of any event: as it was when the
 * thread came from user mode. */
static __always_inline void ls_take_own_stack(struct ls_slot slot, struct ls_scratch* own) {
  ls_take_user_stack(0, 0, 0, slot, own);
}

/* The child has its parent's address space. */
static __always_inline void ls_stack_on_fork(__u32 parent, __u32 parent_life, __u32 child,
                                             __u32 child_life) {
  ls_unwind_on_fork(parent, parent_life, child, child_life);
}

/* This is called when the last thread of the process ends. */
static __always_inline void ls_stack_on_exit(__u32 pid) { ls_unwind_on_exit(pid); }

#endif /* LABELSCOPE_BPF_STACK_BPF_H */
