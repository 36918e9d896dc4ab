/* The BPF helpers that the walk uses, as functions of the host: the same C that runs in the kernel
 * runs in a test, over memory that the test made. */
#pragma once

#include <linux/types.h>
#include <string.h>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

/* 0, or negative and `out` zeroed, as the kernel's. Set by the test. */
extern long (*fake_probe_read_user)(void* out, __u32 size, __u64 address);

/* The number of the thread that is read, for itself. Set by the test. */
extern __u32 fake_thread_number;
struct ls_memory;
static inline __u32 ls_own_number(const struct ls_memory* memory) {
  (void)memory;
  return fake_thread_number;
}

static inline long bpf_probe_read_user(void* out, __u32 size, const void* address) {
  long result = fake_probe_read_user(out, size, (__u64)(unsigned long)address);
  if (result != 0) memset(out, 0, size);
  return result;
}

/* The bytes up to a NUL, and their number with it; `size` if there are more, and then the last one is
 * a NUL, too. Byte by byte: nothing behind the NUL is touched. */
static inline long bpf_probe_read_user_str(void* out, __u32 size, const void* address) {
  char* to = (char*)out;
  for (__u32 i = 0; i < size; i++) {
    if (bpf_probe_read_user(to + i, 1, (const char*)address + i) != 0) {
      memset(out, 0, size);
      return -14;
    }
    if (to[i] == 0) return i + 1;
  }
  to[size - 1] = 0;
  return size;
}
