/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Most threads have the same labels at one wait as at the wait before. To read them, to walk and to
 * number them takes longer than all the rest of a wait. So each thread remembers what was read last
 * time, and which number that led to:
 *
 *   thread leaves its processor --> reads the same places --> the same bytes? --> the same number
 *                                                                  |
 *                                                                  no --> walk, number, remember
 *
 * What is compared are bytes, never the address of a set: a program may write other labels where
 * there were some before. read_log.bpf.h says why equal bytes are enough. */
#ifndef LABELSCOPE_BPF_LABEL_MEMORY_BPF_H
#define LABELSCOPE_BPF_LABEL_MEMORY_BPF_H

#include "bpf/programs/remembered_reads.bpf.h"
#include "bpf/programs/wait_totals.bpf.h"

/* A thread whose labels were others for so many times in a row is left alone for so many waits: to
 * remember would only cost. */
#define LS_MOST_MISSES 16
#define LS_REST 240

/* What a number is of, beside the bytes: all that ls_read_labels() and ls_name_labels() get. */
struct ls_label_basis {
  __u64 plan; /* as in ls_process */
  __u64 thread_pointer;
  __u64 x28;
  __u32 life;
  __u32 pid; /* as labelscope counts */
};

struct ls_label_memory {
  struct ls_numbers numbers; /* that in blame is known only with the next */
  __u64 published_tick; /* of the kernel's clock, when they were found in `label_numbers`; 0: not yet */
  __u64 by_choice; /* as in ls_published */
  struct ls_label_basis basis;
  __u32 misses; /* so many in a row */
  __u32 rest;   /* for so many waits nothing is remembered */
  struct ls_remembered what;
};
LS_ASSERT(sizeof(struct ls_label_memory) <= 1920); /* with the kernel's own head, 2 KiB */

/* The memory of a thread comes with its first wait, and ends with the thread. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct ls_label_memory);
} label_memories SEC(".maps");

/* No program that uses it interrupts another one. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_image);
  __uint(max_entries, 1);
} image SEC(".maps");

/* It is that of the current thread, and null if there is no room for it: then its labels are read
 * each time. */
static __always_inline struct ls_label_memory* ls_label_memory_of_current(void) {
  return bpf_task_storage_get(&label_memories, bpf_get_current_task_btf(), 0,
                              BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Remembers what was read; nothing if that is too much. */
static __always_inline void ls_remember(struct ls_label_memory* memory,
                                        const struct ls_read_log* log) {
  __u32 zero = 0;
  struct ls_image* made = bpf_map_lookup_elem(&image, &zero);
  if (!made) return;
  if (ls_make_image(made, log))
    bpf_probe_read_kernel(&memory->what, sizeof(memory->what), &made->what);
  else
    memory->rest = LS_REST; /* it will be too much next time */
}

/* Returns whether the labels of the current thread have the number that it remembers. */
static __always_inline _Bool ls_has_same_labels(const struct ls_label_memory* memory,
                                                const struct ls_label_basis* basis,
                                                struct ls_read_log* again) {
  const struct ls_label_basis* before = &memory->basis;
  return memory->what.range_count != 0 && before->plan == basis->plan &&
         before->thread_pointer == basis->thread_pointer && before->x28 == basis->x28 &&
         before->life == basis->life && before->pid == basis->pid &&
         ls_has_same_bytes(&memory->what, again);
}

/* Returns whether user space knows the remembered numbers, or will know them. What was found in
 * this tick of the clock, which has at most 10 ms, is not looked for again at each wait. It still
 * holds: the kernel forgets a number when more than 65,536 others have come since, user space when
 * twice as many have, and the ring lets nobody send the difference so fast. */
static __always_inline _Bool ls_is_still_published(struct ls_label_memory* memory) {
  const _Bool by_choice = ls_chooses_blame();
  const __u64 tick = bpf_jiffies64();
  if (memory->published_tick == tick && memory->by_choice == by_choice) return 1;
  struct ls_numbers numbers = memory->numbers;
  if (!ls_is_published(&numbers, by_choice)) return 0;
  memory->numbers.blame = numbers.blame;
  memory->by_choice = by_choice;
  memory->published_tick = tick;
  return 1;
}

#endif /* LABELSCOPE_BPF_LABEL_MEMORY_BPF_H */
