/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is asked of a task: its numbers in labelscope's pid namespace, its thread pointer and flags.
 */
#ifndef LABELSCOPE_BPF_TASK_BPF_H
#define LABELSCOPE_BPF_TASK_BPF_H

#include "bpf/maps.bpf.h"

/* The kernel's MAX_PID_NS_LEVEL: no deeper nesting exists. */
#define LS_MAX_PID_LEVEL 32
/* PF_EXITING of the kernel. */
#define LS_TASK_EXITING 0x4

struct ls_ids {
  __u32 pid; /* 0: not visible from labelscope's pid namespace */
  __u32 tid;
};

/* The number of `pid` in labelscope's namespace; from the inside out, since that is mostly its own.
 */
static __always_inline __u32 ls_number_of(struct pid* pid) {
  __u32 level = BPF_CORE_READ(pid, level);
  for (__u32 i = 0; i <= LS_MAX_PID_LEVEL; i++) {
    struct upid* number;
    struct pid_namespace* space;
    if (i > level || level > LS_MAX_PID_LEVEL) break;
    number = (void*)pid + bpf_core_field_offset(struct pid, numbers) +
             (level - i) * bpf_core_type_size(struct upid);
    space = BPF_CORE_READ(number, ns);
    if (BPF_CORE_READ(space, ns.inum) == config.pid_namespace) return BPF_CORE_READ(number, nr);
  }
  return 0;
}

static __always_inline struct ls_ids ls_ids_of(struct task_struct* task) {
  struct ls_ids ids;
  if (config.pid_namespace == 0) {
    ids.pid = BPF_CORE_READ(task, tgid);
    ids.tid = BPF_CORE_READ(task, pid);
  } else {
    ids.pid = ls_number_of(BPF_CORE_READ(task, group_leader, thread_pid));
    ids.tid = ids.pid ? ls_number_of(BPF_CORE_READ(task, thread_pid)) : 0;
  }
  return ids;
}

static __always_inline struct ls_ids ls_current_ids(void) {
  __u64 both = bpf_get_current_pid_tgid();
  struct ls_ids ids = {.pid = both >> 32, .tid = (__u32)both};
  if (config.pid_namespace != 0 && ids.pid != 0)
    ids = ls_ids_of((struct task_struct*)bpf_get_current_task());
  return ids;
}

struct ls_thread {
  __u64 pointer;
  __u32 flags;
};

static __always_inline struct ls_thread ls_current_thread(void) {
  struct ls_thread thread;
  if (ls_has_current_task_btf()) {
    struct task_struct* task = bpf_get_current_task_btf();
    thread.flags = task->flags;
    thread.pointer = ls_thread_pointer(task);
  } else {
    struct task_struct* task = (struct task_struct*)bpf_get_current_task();
    thread.flags = BPF_CORE_READ(task, flags);
    thread.pointer = ls_probe_thread_pointer(task);
  }
  return thread;
}

#endif /* LABELSCOPE_BPF_TASK_BPF_H */
