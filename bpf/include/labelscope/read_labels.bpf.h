/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The labels of a thread, read by a BPF program: recipes applied, labels walked, everything
 * bounded. labelscope's own sampler is one user of this header; yours may be another.
 *
 * User space plans the recipes of a process (labelscope.h or labelscope/plan.h), puts them into a
 * map of struct ls_recipes by pid, and takes apart what comes back with labelscope/label_blocks.h.
 * The program:
 *
 *   #include "vmlinux.h"                          or <linux/bpf.h> and types of your own
 *   #include <bpf/bpf_helpers.h>
 *   #include <bpf/bpf_core_read.h>                for the thread pointer
 *   #include <labelscope/read_labels.bpf.h>
 *
 *   struct entry {
 *     struct my_head head;                        yours; a multiple of 8 bytes
 *     struct ls_reading reading;                  its labels come first, so both are one record
 *   };
 *   struct {                                      too large for the stack: one for each CPU
 *     __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
 *     __uint(max_entries, 1);
 *     __type(key, __u32);
 *     __type(value, struct entry);
 *   } entries SEC(".maps");
 *   static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
 *     struct entry* own = bpf_map_lookup_elem(&entries, &index);
 *     return own ? &own->reading : 0;
 *   }
 *
 *   SEC("perf_event") int sample(void* ctx) {
 *     ... entry `own` of index 0, and the process's struct ls_recipes
 *     own->reading.recipes = *recipes;
 *     ls_read_labels(0, ls_current_thread_pointer());
 *     __u64 size = sizeof(own->head) + sizeof(struct ls_label_head) +
 * own->reading.labels.head.size; if (size > sizeof(own->head) + sizeof(own->reading.labels)) return
 * 0;    for the verifier bpf_ringbuf_output(&ring, own, size, 0);
 *   }
 *
 * `index` is whatever your ls_reading_at() makes of it. Nothing of a reading needs to be
 * initialized but its recipes. Two programs that can interrupt each other on one CPU need a reading
 * each (a sampler on a hardware event and a kprobe, for instance).
 *
 * ls_read_labels() returns enum ls_outcome, which is in reading.labels.head too, beside the flags.
 * Labelled if any publisher is, else the reason of the first that is unreadable, else unlabelled.
 * Bounds: outcome.h. The most that one reading can hold is LS_BLOCKS_LIMIT bytes of blocks; it asks
 * for about 27 KiB of map memory. reading.fault says which read failed last.
 *
 * Kernels: from 5.10, any program type that may call bpf_probe_read_user() and is of a licence
 * that the GPL is compatible with. CAP_BPF and CAP_PERFMON. ls_read_labels() and the walk inside it
 * are global functions, which the verifier looks at once each, whoever calls them: about 50,000
 * instructions together, of the million that it has patience for. They use 300 bytes of stack.
 *
 * LS_READ_TASK, defined before this header, makes it read the memory of a given task instead of the
 * current one's: ls_read_labels(task, index, thread_pointer) in a sleepable program (task
 * iterators, Linux 5.18; bpf_copy_from_user_task). Pages that are not in memory are brought in.
 * LS_BPF_LOOP, which that includes, has the walk loop with bpf_loop() (Linux 5.17): the verifier
 * then looks at a small part of the instructions, and the program is loaded sooner.
 */
#ifndef LABELSCOPE_READ_LABELS_BPF_H
#define LABELSCOPE_READ_LABELS_BPF_H

#ifdef LS_READ_TASK
#define LS_BPF_LOOP
#endif

#include "labelscope/bpf/locate.bpf.h"
#ifdef __bpf__ /* tests compile the rest for the host */
#include "labelscope/bpf/thread_pointer.bpf.h"
#endif
#include "labelscope/bpf/walk_labels.bpf.h"

/* One observation of one thread, and what is needed for it. */
struct ls_reading {
  struct ls_labels labels; /* the result */
  struct ls_walk walk;
  struct ls_fault fault; /* size 0: every read has succeeded */
  struct ls_recipes recipes;
};

/* The program's own; null only if its map has no such entry. */
static __always_inline struct ls_reading* ls_reading_at(__u32 index);

/* A function whose arguments are only numbers (5.10; global functions: 5.6), so that the verifier
 * looks at the walk once and not in each of its callers' states. A task cannot be such an argument
 * before 6.9. */
#ifdef LS_READ_TASK
#define LS_FUNCTION static __attribute__((noinline))
#define LS_OF_TASK struct task_struct *task,
#define LS_TASK task,
#define LS_MEMORY(reading) \
  { .fault = &(reading)->fault, .task = task }
#else
#define LS_FUNCTION __attribute__((noinline))
#define LS_OF_TASK
#define LS_TASK
#define LS_MEMORY(reading) \
  { .fault = &(reading)->fault }
#endif

static __always_inline void ls_clear_labels(struct ls_labels* out) {
  out->head.flags = 0;
  out->head.outcome = LS_UNLABELLED;
  out->head.block_count = 0;
  out->head.size = 0;
  out->head.reserved = 0;
}

LS_FUNCTION __u32 ls_walk_publisher(LS_OF_TASK __u32 index, __u64 variable, __u32 publisher) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_memory memory = LS_MEMORY(reading);
  return ls_walk_labels(&memory, &reading->walk, &reading->labels, variable, publisher);
}

/* Publisher number `i`; false if there is none. */
static __always_inline _Bool ls_read_publisher(LS_OF_TASK __u32 index, struct ls_reading* reading,
                                               __u64 thread_pointer, __u64 i) {
  struct ls_memory memory = LS_MEMORY(reading);
  struct ls_label_head* head = &reading->labels.head;
  struct ls_located where;

  ls_reload();
  ls_keep_together(i);
  if (i >= LS_MAX_PUBLISHERS || i >= reading->recipes.count) return 0;
  ls_locate(&memory, &reading->recipes.recipe[i], thread_pointer, &where);
  head->flags |= where.flags;
  if (where.outcome == LS_LABELLED)
    where.outcome = ls_walk_publisher(LS_TASK index, where.address, i);
  if (where.outcome > LS_UNLABELLED) {
    head->flags |= LS_PARTLY_UNREADABLE;
    /* The first reason stands. */
    if (head->outcome == LS_UNLABELLED) head->outcome = where.outcome;
  }
  return 1;
}

#ifdef LS_READ_TASK
/* A function that is not global is looked at anew in each round of a loop, but not in those of
 * bpf_loop() (5.17). */
struct ls_rounds {
  struct task_struct* task;
  __u64 thread_pointer;
  __u32 index;
};

static long ls_round(__u32 i, void* argument) {
  struct ls_rounds* rounds = argument;
  struct ls_reading* reading = ls_reading_at(rounds->index);
  if (!reading) return 1;
  return !ls_read_publisher(rounds->task, rounds->index, reading, rounds->thread_pointer, i);
}
#endif

/* All publishers of one process, for one thread; the recipes are in the reading. */
LS_FUNCTION __u32 ls_read_labels(LS_OF_TASK __u32 index, __u64 thread_pointer) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_label_head* head = &reading->labels.head;

  ls_clear_labels(&reading->labels);
  reading->fault.size = 0;
#ifdef LS_READ_TASK
  struct ls_rounds rounds = {task, thread_pointer, index};
  bpf_loop(LS_MAX_PUBLISHERS, ls_round, &rounds, 0);
#else
  for (__u32 i = 0; i < LS_MAX_PUBLISHERS; i++) {
    if (!ls_read_publisher(index, reading, thread_pointer, i)) break;
  }
#endif
  if (head->block_count) {
    head->outcome = LS_LABELLED;
  } else {
    head->flags &= ~LS_PARTLY_UNREADABLE;
  }
  if (head->outcome != LS_UNLABELLED) head->flags &= ~LS_NEVER_TOUCHED;
  return head->outcome;
}

#endif /* LABELSCOPE_READ_LABELS_BPF_H */
