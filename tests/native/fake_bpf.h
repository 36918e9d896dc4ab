/* The BPF helpers that the walk uses, as functions of the host: the same C that runs in the kernel
 * runs in a test, over memory that the test made. */
#pragma once

#include <linux/types.h>
#include <string.h>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

/* Returns 0, or a negative number after it has zeroed `out`, like the kernel's helper. The test
 * sets it. */
extern long (*fake_probe_read_user)(void* out, __u32 size, __u64 address);

/* The number that the thread that is read has in its own namespace. The test sets it. */
extern __u32 fake_thread_number;
struct ls_memory;
static inline __u32 ls_own_number(const struct ls_memory* memory) {
  (void)memory;
  return fake_thread_number;
}

/* Its name. The test sets it; an empty one is not known. */
extern char fake_thread_name[16];
static inline _Bool ls_own_name(const struct ls_memory* memory, void* out) {
  (void)memory;
  memcpy(out, fake_thread_name, sizeof fake_thread_name);
  return fake_thread_name[0] != 0;
}

/* Whether that thread is the first one of its process. Set by the test. */
extern _Bool fake_first_thread;
static inline _Bool ls_is_first_thread(const struct ls_memory* memory) {
  (void)memory;
  return fake_first_thread;
}

static inline long bpf_probe_read_kernel(void* out, __u32 size, const void* from) {
  memcpy(out, from, size);
  return 0;
}

static inline long bpf_probe_read_user(void* out, __u32 size, const void* address) {
  long result = fake_probe_read_user(out, size, (__u64)(unsigned long)address);
  if (result != 0) memset(out, 0, size);
  return result;
}

/* Copies the bytes up to a NUL, and returns their number with it. If there are more than `size`, it
 * returns `size`, and the last byte is a NUL, too. It goes byte by byte, since it must not touch
 * what follows the NUL. */
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
