/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is what the hooks of the scheduler have in common (off_cpu.bpf.h, blame.bpf.h): the threads
 * whose waits count, and the labels that the current thread has in the middle of such a hook. */
#ifndef LABELSCOPE_BPF_WAITING_THREAD_BPF_H
#define LABELSCOPE_BPF_WAITING_THREAD_BPF_H

#include "bpf/programs/label_memory.bpf.h"
#include "bpf/programs/take_sample.bpf.h"
#include "bpf/programs/vmlinux_waits.h"

/* This is the kernel's PF_KTHREAD. */
#define LS_TASK_KERNEL 0x00200000

/* The key is the thread's number as labelscope's own pid namespace counts. User space puts the
 * threads in that are there at the start; the others come when they first leave a processor. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_off_cpu);
  __uint(max_entries, 1);
} off_cpu_threads SEC(".maps");

/* Returns the entry of a thread. One that has the number of a thread which has ended, unseen, is
 * removed: the number may belong to a program now that is not recorded. */
static __always_inline struct ls_off_cpu* ls_off_cpu_of(struct ls_ids ids) {
  if (ids.pid == 0) return 0;
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &ids.tid);
  if (!thread || thread->pid == ids.pid) return thread;
  bpf_map_delete_elem(&off_cpu_threads, &ids.tid);
  return 0;
}

/* Does what ls_ids_of() does. These programs see every switch of the machine, and the kernel lets
 * them read the tasks of their tracepoints without a helper. */
static __always_inline struct ls_ids ls_ids_of_argument(struct task_struct* task) {
  if (config.pid_namespace != 0) return ls_ids_of(task, config.pid_namespace);
  struct ls_ids ids = {.pid = task->tgid, .tid = task->pid};
  return ids;
}

/* Threads of the kernel and of io_uring never come back to user mode, so they cannot take samples.
 * They wait for work alone. */
static __always_inline _Bool ls_takes_samples(const struct task_struct* task) {
  return !(task->flags & (LS_TASK_KERNEL | config.worker_flag));
}

/* Returns the numbers of a thread whose waits may count. The process has the number 0 if they do
 * not: most switches end here, so this costs no more than three loads. */
static __always_inline struct ls_ids ls_waiter_ids(struct task_struct* task) {
  struct ls_ids none = {};
  if (!ls_takes_samples(task)) return none;
  struct ls_ids ids = ls_ids_of_argument(task);
  return ls_may_be_recorded(ids.pid) ? ids : none;
}

/* Returns the system call that a task is in, or LS_CALL_NONE. */
static __always_inline __s32 ls_system_call_of(struct task_struct* task) {
  /* The verifier knows the type of what this returns, so no helper is needed to read it. */
  const struct pt_regs___ls_call* registers = (const void*)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
  __s32 call = registers->syscallno;
  __u64 mode = registers->pstate;
#else
  __s32 call = (__s32)registers->orig_ax;
  __u64 mode = registers->cs;
#endif
  if (call < 0) return LS_CALL_NONE;
  return LS_IS_32_BIT(mode) ? call | LS_CALL_32_BIT : call;
}

static __always_inline _Bool ls_is_recorded(const struct ls_found_process* found) {
  const struct ls_process* process = found->process;
  return process && !(process->until_exec && process->life == *found->life);
}

/* Labels that have one number in both, since there are none. */
static __always_inline struct ls_numbers ls_without_labels(__u64 outcome) {
  return (struct ls_numbers){outcome, outcome};
}

/* Reads the labels of the current thread and numbers them, and remembers both if `memory` is not
 * null. */
static __always_inline struct ls_numbers ls_read_and_number(struct ls_slot slot,
                                                            struct ls_scratch* own,
                                                            const struct ls_found_process* found,
                                                            const struct ls_label_basis* basis,
                                                            struct ls_label_memory* memory) {
  ls_copy_process(own, found);
  own->reading.x28 = basis->x28;
  ls_begin_log(&own->reading.log, memory != 0);
  ls_read_labels(slot.index, basis->thread_pointer);
  ls_reload();
  if (memory) memory->what.range_count = 0;
  /* What is missing now may be there when the thread returns: the page, or the recipe of a program
   * that has just begun. */
  if (own->reading.fault.size || own->reading.labels.head.outcome == LS_UNREADABLE_NOT_RELOCATED)
    return ls_without_labels(LS_LABELS_LATER);
  const _Bool named = ls_name_labels(slot.index, basis->pid);
  ls_reload();
  if (!memory || !named) return own->numbers;
  memory->numbers = own->numbers;
  memory->published_tick = 0;
  memory->basis = *basis;
  ls_remember(memory, &own->reading.log);
  return own->numbers;
}

/* Returns whether a process publishes no labels. Then nothing is to be copied or read for its
 * threads, which would take most of the time of a switch. */
static __always_inline _Bool ls_has_no_publishers(const struct ls_found_process* found) {
  const _Bool none = *(const volatile __u32*)&found->process->recipes.count == 0;
  return none && ls_was_of_life(found, *found->life);
}

/* Returns the numbers of the labels of the current thread, which leaves its processor. */
static __always_inline struct ls_numbers ls_labels_at_leaving(const struct ls_found_process* found,
                                                              struct ls_ids ids) {
  const struct ls_process* process = found->process;
  if (ls_has_no_publishers(found)) return ls_without_labels(LS_UNLABELLED);
  struct ls_slot slot = ls_slot_of(LS_PROGRAM_SWITCH);
  struct ls_scratch* own = ls_scratch_at(slot.index);
  if (!own) return ls_without_labels(LS_UNREADABLE_VANISHED);
  const struct ls_label_basis basis = {
      .plan = process->plan,
      .thread_pointer = ls_known_pointer(process->first_pointer_known, ls_current_thread().pointer),
      .x28 = ls_wanted_x28(0, &process->recipes),
      .life = *found->life,
      .pid = ids.pid};
  struct ls_label_memory* memory = ls_label_memory_of_current();
  if (memory && memory->rest) {
    memory->rest--;
    memory = 0;
  }
  if (memory) {
    if (ls_has_same_labels(memory, &basis, &own->reading.log)) {
      memory->misses = 0;
      if (ls_is_still_published(memory)) return memory->numbers;
    } else if (memory->what.range_count != 0 && ++memory->misses >= LS_MOST_MISSES) {
      memory->misses = 0;
      memory->rest = LS_REST;
    }
  }
  return ls_read_and_number(slot, own, found, &basis, memory);
}

#endif /* LABELSCOPE_BPF_WAITING_THREAD_BPF_H */
