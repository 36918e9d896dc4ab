/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These functions read the current task: its numbers in labelscope's pid namespace, thread pointer,
 * CPU time, and flags. */
#ifndef LABELSCOPE_BPF_TASK_BPF_H
#define LABELSCOPE_BPF_TASK_BPF_H

#include "bpf/programs/maps.bpf.h"
#include "bpf/programs/task_ids.bpf.h"

/* This is the kernel's PF_EXITING. */
#define LS_TASK_EXITING 0x4

static __always_inline struct ls_ids ls_current_ids(void) {
  __u64 both = bpf_get_current_pid_tgid();
  struct ls_ids ids = {.pid = both >> 32, .tid = (__u32)both};
  if (config.pid_namespace != 0 && ids.pid != 0)
    ids = ls_ids_of((struct task_struct*)bpf_get_current_task(), config.pid_namespace);
  return ids;
}

/* Returns the identity of a task (wire.h). It is made of the address of its task_struct, which no
 * other task has until this one is freed, and of a secret: user space learns no address of the
 * kernel. */
static __always_inline __u32 ls_identity_of(__u64 task) {
  return (__u32)((task ^ config.label_key.words[0]) * 0x9e3779b97f4a7c15ULL >> 32) | 1;
}

/* Returns whether a task with these flags is a thread of io_uring. */
static __always_inline _Bool ls_is_worker(__u32 flags) {
  return (config.worker_flag & flags) != 0;
}

struct ls_thread {
  __u64 pointer;
  __u64 time_ns; /* as a thread_ns of wire.h */
  __u32 flags;
};

static __always_inline struct ls_thread ls_current_thread(void) {
  struct ls_thread thread;
  if (ls_has_current_task_btf()) {
    struct task_struct* task = bpf_get_current_task_btf();
    thread.flags = task->flags;
    thread.time_ns = task->se.sum_exec_runtime;
    thread.pointer = ls_thread_pointer(task);
  } else {
    struct task_struct* task = (struct task_struct*)bpf_get_current_task();
    thread.flags = BPF_CORE_READ(task, flags);
    thread.time_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
    thread.pointer = ls_probe_thread_pointer(task);
  }
  return thread;
}

/* The verifier lets nobody compute with a pointer that it knows, as the one above is. */
static __always_inline __u32 ls_current_identity(void) {
  return ls_identity_of(bpf_get_current_task());
}

/* Returns the thread pointer, or 0 while the kernel's saved value may be wrong
 * (thread_pointer.bpf.h). */
static __always_inline __u64 ls_known_pointer(__u32 first_pointer_known, __u64 saved) {
#ifdef LS_THREAD_POINTER_LAGS
  __u64 both = bpf_get_current_pid_tgid();
  if (both >> 32 == (__u32)both && !first_pointer_known) return 0;
#else
  (void)first_pointer_known;
#endif
  return saved;
}

#endif /* LABELSCOPE_BPF_TASK_BPF_H */
