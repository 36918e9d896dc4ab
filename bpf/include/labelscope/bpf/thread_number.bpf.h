/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This finds the number that a thread itself gets from gettid(): its number in the innermost pid
 * namespace that it is in. And it finds its name, which is that of pthread_setname_np(). The types
 * end in ___ls, as those of thread_pointer.bpf.h. */
#ifndef LABELSCOPE_THREAD_NUMBER_BPF_H
#define LABELSCOPE_THREAD_NUMBER_BPF_H

#include "labelscope/bpf/read_user.bpf.h"

struct upid___ls {
  int nr;
} __attribute__((preserve_access_index));

struct pid___ls {
  unsigned int level;
  struct upid___ls numbers[1];
} __attribute__((preserve_access_index));

struct task_struct___ls_number {
  int pid;
  int tgid;
  struct pid___ls* thread_pid;
  char comm[16];
} __attribute__((preserve_access_index));

/* Returns whether it is the first thread of its process, which has the process's number in each pid
 * namespace. */
static __always_inline _Bool ls_is_first_thread(const struct ls_memory* memory) {
#ifdef LS_READ_TASK
  const struct task_struct___ls_number* task = (const void*)memory->task;
  return BPF_CORE_READ(task, pid) == BPF_CORE_READ(task, tgid);
#else
  __u64 both = bpf_get_current_pid_tgid();
  (void)memory;
  return (__u32)both == both >> 32;
#endif
}

/* Returns the number of the thread whose memory is read, or 0 if it is not known. */
static __always_inline __u32 ls_own_number(const struct ls_memory* memory) {
#ifdef LS_READ_TASK
  const void* task = memory->task;
#else
  const void* task = (const void*)bpf_get_current_task();
  (void)memory;
#endif
  const struct pid___ls* pid =
      BPF_CORE_READ((const struct task_struct___ls_number*)task, thread_pid);
  __u64 level = BPF_CORE_READ(pid, level);
  const void* number = (const void*)pid + bpf_core_field_offset(struct pid___ls, numbers) +
                       level * bpf_core_type_size(struct upid___ls);
  return BPF_CORE_READ((const struct upid___ls*)number, nr);
}

/* Copies the name of the thread whose memory is read: 16 bytes, with a NUL. Returns whether it is
 * known. */
static __always_inline _Bool ls_own_name(const struct ls_memory* memory, void* out) {
#ifdef LS_READ_TASK
  const struct task_struct___ls_number* task = (const void*)memory->task;
  return bpf_core_read(out, sizeof(task->comm), &task->comm) == 0;
#else
  (void)memory;
  return bpf_get_current_comm(out, sizeof(((struct task_struct___ls_number*)0)->comm)) == 0;
#endif
}

#endif /* LABELSCOPE_THREAD_NUMBER_BPF_H */
