/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These functions read target memory. A program that must not sleep cannot bring in a missing page:
 * the read fails, and ls_fault keeps what it could not read. Code that may sleep can then bring the
 * page in and read everything again. */
#ifndef LABELSCOPE_READ_USER_BPF_H
#define LABELSCOPE_READ_USER_BPF_H

/* On aarch64 the program may use the top byte of a pointer for itself (top-byte ignore). */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define LS_UNTAGGED(address) ((address) & ((1ULL << 56) - 1))
#else
#define LS_UNTAGGED(address) (address)
#endif

/* Makes the compiler load values from a map again, instead of keeping them in registers. The
 * verifier follows every combination of values that it finds in registers. */
#define ls_reload() __asm__ volatile("" ::: "memory")

/* This stands before a check that only the verifier needs. It keeps the compiler from checking one
 * copy of the number and using another. */
#define ls_keep_together(number) __asm__ volatile("" : "+r"(number))

/* ls_each() calls `round` for 0, 1, ... until it returns 1. With bpf_loop() (Linux 5.17) the
 * verifier checks the body once, not once for each round, and a program loads several times as
 * fast. Without LS_BPF_LOOP it is a plain loop. */
#ifdef LS_BPF_LOOP
#define LS_ROUND static __attribute__((noinline)) long
#define ls_each(most, round, argument) bpf_loop(most, round, argument, 0)
#else
#define LS_ROUND static __always_inline long
#define ls_each(most, round, argument)  \
  for (__u32 i = 0; i < (most); i++) {  \
    if (round(i, argument) != 0) break; \
  }
#endif

#ifdef LS_WITH_READ_LOG
#include "labelscope/bpf/read_log.bpf.h"
#endif

/* The last read that failed. The size is 0 if none did. */
struct ls_fault {
  __u64 address;
  __u64 size;
};

/* Identifies whose memory is read: that of the current process, or with LS_READ_TASK that of
 * another task. It is on the stack, and the compiler replaces it by its members. */
struct ls_memory {
  struct ls_fault* fault;
#ifdef LS_WITH_READ_LOG
  struct ls_read_log* log; /* may be null */
#endif
#ifdef LS_READ_TASK
  struct task_struct* task;
#endif
};

/* Returns 0, or a negative number; in that case `out` is zeros. */
static __always_inline long ls_copy(const struct ls_memory* memory, void* out, __u32 size,
                                    __u64 address) {
  const void* from = (const void*)(unsigned long)LS_UNTAGGED(address);
#ifdef LS_READ_TASK
  return bpf_copy_from_user_task(out, size, from, memory->task, 0);
#else
  (void)memory;
  long error = bpf_probe_read_user(out, size, from);
#ifdef LS_WITH_READ_LOG
  if (memory->log && memory->log->wanted) {
    if (error)
      ls_spoil_log(memory->log);
    else
      ls_log_read(memory->log, out, size, (__u64)(unsigned long)from);
  }
#endif
  return error;
#endif
}

/* The labels depend on something that is not in memory. */
static __always_inline void ls_depend_on_more(const struct ls_memory* memory) {
#ifdef LS_WITH_READ_LOG
  ls_spoil_log(memory->log);
#else
  (void)memory;
#endif
}

/* Of the last read only so many bytes are looked at. */
static __always_inline void ls_look_at(const struct ls_memory* memory, __u64 size) {
#ifdef LS_WITH_READ_LOG
  ls_trim_log(memory->log, size);
#else
  (void)memory;
  (void)size;
#endif
}

static __always_inline _Bool ls_read_user(const struct ls_memory* memory, void* out, __u32 size,
                                          __u64 address) {
  if (ls_copy(memory, out, size, address) == 0) return 1;
  memory->fault->address = LS_UNTAGGED(address);
  memory->fault->size = size;
  return 0;
}

/* Text is read up to so many bytes, the NUL included. */
#define LS_TEXT_SIZE 257

/* Reads a C string. Returns the number of its bytes with the NUL, or LS_TEXT_SIZE + 1 if it is
 * longer (then this function has put a NUL in the last of LS_TEXT_SIZE bytes), or 0 if it cannot be
 * read. The memory behind the NUL need not be readable. */
#ifdef LS_READ_TASK
/* The argument of a round. */
struct ls_rounds_of_text {
  const __u8* text;
  __u64 limit;
  __u64 length;
};

LS_ROUND ls_count_byte(__u32 i, void* argument) {
  struct ls_rounds_of_text* rounds = (struct ls_rounds_of_text*)argument;
  if (i >= LS_TEXT_SIZE || i >= rounds->limit || rounds->text[i] == 0) return 1;
  rounds->length = i + 1;
  return 0;
}

/* Returns the number of bytes before the first NUL, but at most `limit`. */
static __always_inline __u64 ls_length_up_to(const __u8* text, __u64 limit) {
  struct ls_rounds_of_text rounds = {text, limit, 0};
  ls_each(LS_TEXT_SIZE, ls_count_byte, &rounds);
  return rounds.length;
}

/* There is no helper for this before Linux 6.15. So it reads to the end of the page, and then the
 * rest. */
static __always_inline long ls_read_text(const struct ls_memory* memory, __u8* out, __u64 address) {
  __u64 first = 4096 - (address & 4095);

  if (first > LS_TEXT_SIZE) first = LS_TEXT_SIZE;
  if (!ls_read_user(memory, out, first, address)) return 0;
  __u64 length = ls_length_up_to(out, first);
  if (length == first && first < LS_TEXT_SIZE) {
    ls_keep_together(first);
    if (first >= LS_TEXT_SIZE) return 0; /* for the verifier */
    if (!ls_read_user(memory, out + first, LS_TEXT_SIZE - first, address + first)) return 0;
    length = ls_length_up_to(out, LS_TEXT_SIZE);
  }
  if (length < LS_TEXT_SIZE) return length + 1;
  out[LS_TEXT_SIZE - 1] = 0;
  return LS_TEXT_SIZE + 1;
}
#else
static __always_inline long ls_read_text(const struct ls_memory* memory, __u8* out, __u64 address) {
  /* It asks for one byte more, because the helper does not distinguish text that just fits from
   * text that it has cut. */
  long size = bpf_probe_read_user_str(out, LS_TEXT_SIZE + 1, (const void*)(unsigned long)address);
  if (size > 0) {
#ifdef LS_WITH_READ_LOG
    if (memory->log && memory->log->wanted) {
      if (size > LS_TEXT_SIZE) /* it goes on behind what was read */
        ls_spoil_log(memory->log);
      else
        ls_log_read(memory->log, out, size, address);
    }
#endif
    out[LS_TEXT_SIZE - 1] = 0;
    return size;
  }
  /* The missing page is that of the first byte, or the next one. */
  if (ls_copy(memory, out, 1, address) == 0) address = (LS_UNTAGGED(address) | 4095) + 1;
  memory->fault->address = LS_UNTAGGED(address);
  memory->fault->size = 1;
  return 0;
}
#endif

#endif /* LABELSCOPE_READ_USER_BPF_H */
