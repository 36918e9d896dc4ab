/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread pointer that the kernel has saved for a task: fs base on x86-64, TPIDR_EL0 on aarch64.
 *
 * On x86-64 it is right for a running thread too: every way to set it but WRFSBASE stores it, and
 * no libc uses that. On aarch64 a process's first thread sets TPIDR_EL0 in user mode, so the saved
 * value lags until its first context switch after that; until then it is 0 or an earlier program's
 * (LS_THREAD_POINTER_LAGS). Nothing that the kernel has says so: user space must have it stopped
 * once, as the reader's saved_pointer.h does, before what is saved for it is believed. Other
 * threads get theirs from clone(), children of fork() from the kernel, and are right from the
 * start.
 *
 * The types have a suffix that libbpf ignores when it relocates, so that they stand beside those of
 * any vmlinux.h. */
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

/* Linux 5.11. Decided when libbpf loads the program; the verifier removes what cannot be. */
#define ls_has_current_task_btf() \
  bpf_core_enum_value_exists(enum bpf_func_id___ls, BPF_FUNC_get_current_task_btf___ls)

/* `task`: a pointer whose type the verifier knows, as bpf_get_current_task_btf() and iterators give
 * it. */
static __always_inline __u64 ls_thread_pointer(const struct task_struct* task) {
  return ((const struct task_struct___ls*)task)->LS_THREAD_POINTER_FIELD;
}

/* `task`: any pointer to a task. */
static __always_inline __u64 ls_probe_thread_pointer(const struct task_struct* task) {
  return BPF_CORE_READ((const struct task_struct___ls*)task, LS_THREAD_POINTER_FIELD);
}

static __always_inline __u64 ls_current_thread_pointer(void) {
  if (ls_has_current_task_btf()) return ls_thread_pointer(bpf_get_current_task_btf());
  return ls_probe_thread_pointer((const struct task_struct*)bpf_get_current_task());
}

#endif /* LABELSCOPE_THREAD_POINTER_BPF_H */
