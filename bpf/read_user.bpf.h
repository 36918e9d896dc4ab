/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One read of target memory. It never faults a page in; what it could not read is kept, so that
 * somebody who may sleep can bring the page in and everything can be read again (retry.bpf.h). */
#ifndef LABELSCOPE_BPF_READ_USER_BPF_H
#define LABELSCOPE_BPF_READ_USER_BPF_H

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

static __always_inline _Bool ls_read_user(void* out, __u32 size, __u64 address,
                                          struct ls_fault* fault) {
  address = LS_UNTAGGED(address);
  if (bpf_probe_read_user(out, size, (const void*)(unsigned long)address) == 0) return 1;
  fault->address = address;
  fault->size = size;
  return 0;
}

#endif /* LABELSCOPE_BPF_READ_USER_BPF_H */
