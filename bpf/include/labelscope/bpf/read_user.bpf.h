/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One read of target memory. In a program that must not sleep it never faults a page in; what it
 * could not read is kept, so that somebody who may sleep can bring the page in and everything can
 * be read again. */
#ifndef LABELSCOPE_READ_USER_BPF_H
#define LABELSCOPE_READ_USER_BPF_H

/* On aarch64 the top byte of a pointer is the program's own (top-byte ignore). */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define LS_UNTAGGED(address) ((address) & ((1ULL << 56) - 1))
#else
#define LS_UNTAGGED(address) (address)
#endif

/* Keeps the compiler from holding in registers what lies in a map: the verifier tells states apart
 * by their registers, and follows every combination of cursors that it finds there. */
#define ls_reload() __asm__ volatile("" ::: "memory")

/* Before a check whose only purpose is the verifier's: keeps the compiler from checking one copy of
 * a number and using another. */
#define ls_keep_together(number) __asm__ volatile("" : "+r"(number))

/* The last read that failed; size 0: none did. */
struct ls_fault {
  __u64 address;
  __u64 size;
};

/* Whose memory is read: the current process's, or with LS_READ_TASK another task's. Lives on the
 * stack, where the compiler takes it apart. */
struct ls_memory {
  struct ls_fault* fault;
#ifdef LS_READ_TASK
  struct task_struct* task;
#endif
};

/* 0, or negative and `out` is zeros. */
static __always_inline long ls_copy(const struct ls_memory* memory, void* out, __u32 size,
                                    __u64 address) {
  const void* from = (const void*)(unsigned long)LS_UNTAGGED(address);
#ifdef LS_READ_TASK
  return bpf_copy_from_user_task(out, size, from, memory->task, 0);
#else
  (void)memory;
  return bpf_probe_read_user(out, size, from);
#endif
}

static __always_inline _Bool ls_read_user(const struct ls_memory* memory, void* out, __u32 size,
                                          __u64 address) {
  if (ls_copy(memory, out, size, address) == 0) return 1;
  memory->fault->address = LS_UNTAGGED(address);
  memory->fault->size = size;
  return 0;
}

#endif /* LABELSCOPE_READ_USER_BPF_H */
