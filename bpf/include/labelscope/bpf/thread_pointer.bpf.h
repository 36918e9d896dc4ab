/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This reads the thread pointer that the kernel has saved for a task: fs base on x86-64, TPIDR_EL0
 * on aarch64.
 *
 * On x86-64 it is right for a running thread, too: every way to set fs base stores it in the
 * kernel, except the instruction WRFSBASE, which no libc uses.
 *
 * On aarch64 a program sets TPIDR_EL0 in user mode, and the kernel saves it only when it switches
 * the thread out (LS_THREAD_POINTER_LAGS):
 *
 *   exec          the libc sets TPIDR_EL0       first context switch
 *   |             |                             |
 *   saved: 0 or an earlier program's value      | saved: right from here on
 *
 * That matters only for a process's first thread. The kernel knows the pointer of other threads
 * from clone(), and that of a child from the fork(). Nothing in the kernel shows whether the first
 * switch has happened. So user space must stop the first thread once (labelscope/saved_pointer.h);
 * from then on the saved value is right.
 *
 * The types here end in ___ls. libbpf ignores that suffix when it relocates, so they can stand
 * beside the types of any vmlinux.h. */
#ifndef LABELSCOPE_THREAD_POINTER_BPF_H
#define LABELSCOPE_THREAD_POINTER_BPF_H

#if defined(__TARGET_ARCH_x86)
struct thread_struct___ls {
  unsigned long fsbase;
} __attribute__((preserve_access_index));
#define LS_THREAD_POINTER_FIELD thread.fsbase
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct___ls {
  struct {
    unsigned long tp_value;
  } uw;
} __attribute__((preserve_access_index));
#define LS_THREAD_POINTER_FIELD thread.uw.tp_value
#define LS_THREAD_POINTER_LAGS
#else
#error "define __TARGET_ARCH_x86 or __TARGET_ARCH_arm64; thread pointers of others are not known"
#endif

struct task_struct___ls {
  struct thread_struct___ls thread;
} __attribute__((preserve_access_index));

enum bpf_func_id___ls { BPF_FUNC_get_current_task_btf___ls = 1 };

/* This is true from Linux 5.11 on. libbpf decides it when it loads the program, and the verifier
 * removes the other branch. */
#define ls_has_current_task_btf() \
  bpf_core_enum_value_exists(enum bpf_func_id___ls, BPF_FUNC_get_current_task_btf___ls)

/* `task` must be a pointer whose type the verifier knows. bpf_get_current_task_btf() and iterators
 * give such pointers. */
static __always_inline __u64 ls_thread_pointer(const struct task_struct* task) {
  return ((const struct task_struct___ls*)task)->LS_THREAD_POINTER_FIELD;
}

/* `task` may be any pointer to a task. */
static __always_inline __u64 ls_probe_thread_pointer(const struct task_struct* task) {
  return BPF_CORE_READ((const struct task_struct___ls*)task, LS_THREAD_POINTER_FIELD);
}

static __always_inline __u64 ls_current_thread_pointer(void) {
  if (ls_has_current_task_btf()) return ls_thread_pointer(bpf_get_current_task_btf());
  return ls_probe_thread_pointer((const struct task_struct*)bpf_get_current_task());
}

#endif /* LABELSCOPE_THREAD_POINTER_BPF_H */
