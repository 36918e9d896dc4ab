/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This finds the numbers of a task as labelscope's pid namespace counts. */
#ifndef LABELSCOPE_BPF_TASK_IDS_BPF_H
#define LABELSCOPE_BPF_TASK_IDS_BPF_H

/* This is the kernel's MAX_PID_NS_LEVEL: no deeper nesting exists. */
#define LS_MAX_PID_LEVEL 32

struct ls_ids {
  __u32 pid; /* 0 if the process is not visible from labelscope's pid namespace */
  __u32 tid;
};

/* Returns the number of `pid` in the namespace, or 0. The search goes from the innermost namespace
 * outwards, because the innermost is mostly the right one. */
static __always_inline __u32 ls_number_of(struct pid* pid, __u32 pid_namespace) {
  __u32 level = BPF_CORE_READ(pid, level);
  for (__u32 i = 0; i <= LS_MAX_PID_LEVEL; i++) {
    struct upid* number;
    struct pid_namespace* space;
    if (i > level || level > LS_MAX_PID_LEVEL) break;
    number = (void*)pid + bpf_core_field_offset(struct pid, numbers) +
             (level - i) * bpf_core_type_size(struct upid);
    space = BPF_CORE_READ(number, ns);
    if (BPF_CORE_READ(space, ns.inum) == pid_namespace) return BPF_CORE_READ(number, nr);
  }
  return 0;
}

/* `pid_namespace` is the inode number of the namespace; 0 is the initial one. */
static __always_inline struct ls_ids ls_ids_of(struct task_struct* task, __u32 pid_namespace) {
  struct ls_ids ids;
  if (pid_namespace == 0) {
    ids.pid = BPF_CORE_READ(task, tgid);
    ids.tid = BPF_CORE_READ(task, pid);
  } else {
    ids.pid = ls_number_of(BPF_CORE_READ(task, group_leader, thread_pid), pid_namespace);
    ids.tid = ids.pid ? ls_number_of(BPF_CORE_READ(task, thread_pid), pid_namespace) : 0;
  }
  return ids;
}

#endif /* LABELSCOPE_BPF_TASK_IDS_BPF_H */
