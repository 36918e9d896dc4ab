/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This takes one sample of the current thread: which thread runs here, where, and with which
 * labels, in one record.
 *
 *   ls_take_sample()
 *     ls_observe()
 *       ls_find_process()      is it recorded? user space's recipes for it
 *       thread pointer         from the kernel's task_struct
 *       ls_read_labels()       labels, into the slot's entry of `scratch`
 *       ls_schedule_retry()    if a page of them is missing, where the kernel can (retry.bpf.h)
 *       ls_take_stack()        user and kernel stack, behind the labels
 *     ls_send()                head + labels + stacks --> ring buffer
 *
 * Nothing here may sleep, so nothing here can bring in a page that is not in memory. */
#ifndef LABELSCOPE_BPF_TAKE_SAMPLE_BPF_H
#define LABELSCOPE_BPF_TAKE_SAMPLE_BPF_H

#include "bpf/programs/lifecycle.bpf.h"
#include "bpf/programs/stack.bpf.h"
#include "bpf/programs/task.bpf.h"
#include "bpf/programs/user_registers.bpf.h"
#ifdef LS_WITH_RETRY
#include "bpf/programs/retry.bpf.h"
#endif

/* If user space is behind, it has enough to do, and is not woken for every sample. */
#define LS_WAKEUP_INTERVAL_NS 1000000

static __always_inline __u64 ls_wakeup_flag(struct ls_scratch* own) {
  /* A file was loaded a moment ago. Until user space has read where, all stacks end in it. */
  _Bool urgent = own->sample.stack.end == LS_STACK_NO_MAPPING;
  if (!urgent && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < config.wakeup_bytes)
    return BPF_RB_NO_WAKEUP;
  if (own->sample.time_ns - own->last_wakeup_ns < LS_WAKEUP_INTERVAL_NS) return BPF_RB_NO_WAKEUP;
  own->last_wakeup_ns = own->sample.time_ns;
  return BPF_RB_FORCE_WAKEUP;
}

static __always_inline _Bool ls_send_sample(struct ls_scratch* own) {
  __u64 frames = (__u64)own->sample.stack.user_frames + own->sample.stack.kernel_frames;
  __u64 size = sizeof(own->sample) + sizeof(own->reading.labels.head) +
               own->reading.labels.head.size + 8 * frames;
  if (size > sizeof(own->sample) + sizeof(own->reading.labels)) return 0; /* for the verifier */
  own->sample.record.size = size;
  own->sample.record.type = LS_RECORD_SAMPLE;
  return bpf_ringbuf_output(&ring, &own->sample, size, ls_wakeup_flag(own)) == 0;
}

static __always_inline void ls_read_current(__u32 index, struct ls_scratch* own) {
  struct ls_thread thread = ls_current_thread();
  own->sample.thread_ns = thread.time_ns;
  own->is_worker = ls_is_worker(thread.flags);
  if (own->is_worker) {
    /* A thread of io_uring runs no user code. The thread pointer that it has is its creator's. */
    ls_clear_labels(&own->reading.labels);
    own->reading.labels.head.flags = LS_NEVER_TOUCHED;
    own->reading.fault.size = 0;
    return;
  }
  ls_read_labels(index, ls_known_pointer(own->first_pointer_known, thread.pointer));
}

/* Notes that the process has ended, so its labels are gone or will soon be. The thread still runs
 * in the kernel, which frees its memory. Since Linux 6.16 that comes after on_exit(), and is a good
 * part of the CPU time of a short process. */
static __always_inline void ls_note_ended(struct ls_scratch* own) {
  own->sample.thread_ns = ls_current_thread().time_ns;
  own->reading.fault.size = 0;
  ls_clear_labels(&own->reading.labels);
}

/* What a program knows of the sample that it takes. */
struct ls_moment {
  void* ctx; /* the program's context, for the kernel's helpers */
  /* The registers of the code that the event has interrupted, in user mode or in the kernel. They
   * are null if it interrupts nothing: then only the kernel's saved registers exist. */
  const bpf_user_pt_regs_t* registers;
  __u64 weight_ns; /* as in ls_sample_head */
  enum ls_sample_kind kind;
};

/* Fills the slot's entry of `scratch` with a sample. Null: there is none to take. */
static __always_inline struct ls_scratch* ls_observe(const struct ls_moment* moment,
                                                     struct ls_slot slot) {
  struct ls_ids ids = ls_current_ids();
  struct ls_scratch* own;

  if (ids.pid == 0) {
    ls_count(slot, LS_COUNT_OTHER_NAMESPACE);
    return 0;
  }
  struct ls_found_process found = ls_find_process(ids.pid);
  const struct ls_ending* ending = found.process ? 0 : ls_current_ending();
  const _Bool is_ours =
      found.process && found.process->until_exec && found.process->life == *found.life;
  if (is_ours || (!found.process && !ending)) {
    ls_count(slot, LS_COUNT_FOREIGN);
    return 0;
  }
  own = ls_scratch_at(slot.index);
  if (!own) {
    ls_count(slot, LS_COUNT_NO_SCRATCH);
    return 0;
  }
  ls_count(slot, LS_COUNT_TAKEN);
  own->sample.time_ns = bpf_ktime_get_ns();
  own->sample.weight_ns = moment->weight_ns;
  own->sample.kind = moment->kind;
  own->sample.pid = ids.pid;
  own->sample.tid = ids.tid;
  own->sample.identity = ls_current_identity();
  bpf_get_current_comm(own->sample.comm, sizeof(own->sample.comm));
  own->ended = found.process == 0;
  own->is_worker = 0;
  if (found.process) {
    ls_copy_process(own, &found);
    own->reading.x28 = ls_wanted_x28(moment->registers, &own->reading.recipes);
    ls_read_current(slot.index, own);
  } else {
    own->life = ending ? ending->life : 0; /* it is not null here */
    ls_note_ended(own);
  }
  own->sample.life = own->life;
#ifdef LS_WITH_RETRY
  own->sample.retry_id = own->reading.fault.size ? ls_schedule_retry(slot, own) : 0;
  if (own->sample.retry_id) {
    ls_clear_labels(&own->reading.labels);
    own->reading.labels.head.outcome = LS_UNREADABLE_NOT_RESIDENT;
  }
#else
  own->sample.retry_id = 0;
#endif
  ls_take_stack(moment->ctx, moment->registers, slot, own);

  if (own->sample.retry_id == 0) {
    ls_count(slot, own->reading.labels.head.outcome);
    if (own->reading.labels.head.flags & LS_TRUNCATED) ls_count(slot, LS_COUNT_TRUNCATED);
  }
  return own;
}

/* `own`: as ls_observe() has filled it, perhaps with a weight that was not known there yet. */
static __always_inline void ls_send(struct ls_slot slot, struct ls_scratch* own) {
  if (ls_send_sample(own)) return;
  ls_count(slot, LS_COUNT_DROPPED_SAMPLE);
#ifdef LS_WITH_RETRY
  if (own->sample.retry_id) ls_note_unsent(own);
#endif
}

static __always_inline void ls_take_sample(const struct ls_moment* moment, struct ls_slot slot) {
  struct ls_scratch* own = ls_observe(moment, slot);
  if (own) ls_send(slot, own);
}

#endif /* LABELSCOPE_BPF_TAKE_SAMPLE_BPF_H */
