/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the kernel fields that the hooks of the scheduler read beside those of vmlinux_min.h.
 * They are in types of their own, because not every kernel has them, or has them in the same place:
 * libbpf ignores what follows three underscores when it looks for a type. */
#ifndef LABELSCOPE_BPF_VMLINUX_WAITS_H
#define LABELSCOPE_BPF_VMLINUX_WAITS_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* What is known of a task that may not run, since Linux 6.18, or for long. */
struct sched_dl_entity___ls {
  unsigned int dl_throttled : 1;
};
struct task_struct___ls_limits {
  struct sched_dl_entity___ls dl;
  _Bool throttled; /* its group has used up its quota (CONFIG_CFS_BANDWIDTH) */
  unsigned frozen : 1;
};

/* The system call that a task is in, and the mode that it came from. */
struct pt_regs___ls_call {
#if defined(__TARGET_ARCH_arm64)
  int syscallno;
  __u64 pstate;
#else
  unsigned long orig_ax;
  unsigned long cs;
#endif
};

/* The arguments of futex(). */
struct pt_regs___ls_futex {
#if defined(__TARGET_ARCH_arm64)
  __u64 regs[4];
  __u64 orig_x0;
#else
  unsigned long r10;
  unsigned long dx;
  unsigned long si;
  unsigned long di;
#endif
};

/* The head of the list of a task's robust locks: since 7.x in a part of its own. */
struct task_struct___ls_robust {
  void* robust_list;
};
struct futex_sched_data___ls {
  void* robust_list;
};
struct task_struct___ls_futex {
  struct futex_sched_data___ls futex;
};

#if defined(__TARGET_ARCH_x86)
/* Each task has a pointer to the run queue of its processor. */
struct cfs_rq___ls {
  void* rq;
};
struct sched_entity___ls {
  struct cfs_rq___ls* cfs_rq;
};
struct task_struct___ls_queue {
  struct sched_entity___ls se;
};
#else
struct thread_info___ls {
  __u64 preempt_count;
};
struct task_struct___ls_info {
  struct thread_info___ls thread_info;
};
#endif

/* With PREEMPT_RT, soft interrupts run in threads, and their count is the thread's. */
struct task_struct___ls_soft {
  int softirq_disable_cnt;
};

#pragma clang attribute pop

#endif /* LABELSCOPE_BPF_VMLINUX_WAITS_H */
