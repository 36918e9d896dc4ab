/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One read of target memory. A program that must not sleep cannot bring in a missing page: the read
 * fails, and ls_fault keeps what it could not read. Code that may sleep can then bring the page in
 * and read everything again. */
#ifndef LABELSCOPE_READ_USER_BPF_H
#define LABELSCOPE_READ_USER_BPF_H

/* On aarch64 the top byte of a pointer is the program's own (top-byte ignore). */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define LS_UNTAGGED(address) ((address) & ((1ULL << 56) - 1))
#else
#define LS_UNTAGGED(address) (address)
#endif

/* Makes the compiler load values from a map again, instead of keeping them in registers. The
 * verifier follows every combination of values that it finds in registers. */
#define ls_reload() __asm__ volatile("" ::: "memory")

/* Stands before a check that only the verifier needs. Keeps the compiler from checking one copy of
 * the number and using another. */
#define ls_keep_together(number) __asm__ volatile("" : "+r"(number))

/* The last read that failed; size 0: none did. */
struct ls_fault {
  __u64 address;
  __u64 size;
};

/* Whose memory is read: that of the current process, or with LS_READ_TASK that of another task. It
 * lives on the stack, and the compiler replaces it by its members. */
struct ls_memory {
  struct ls_fault* fault;
#ifdef LS_READ_TASK
  struct task_struct* task;
#endif
};

/* Returns 0, or a negative number: then `out` is zeros. */
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
