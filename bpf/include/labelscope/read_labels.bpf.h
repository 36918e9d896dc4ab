/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the labels of a thread in a BPF program: applies the recipes of the thread's process and
 * walks the label sets that they lead to. labelscope's own sampler uses this header, and other
 * profilers can, too.
 *
 *   user space                                     BPF program, on each event
 *   labelscope.h or plan.h: ls_tls_recipe ... ---> map: pid -> struct ls_recipes
 *                                                        |  ls_read_labels(index, thread pointer)
 *                                                        v
 *   labelscope/label_blocks.h  <--- ring buffer --- ls_label_head, label blocks
 *
 * A whole program (a test compiles it as it stands here):
 *
 *   #include <linux/bpf.h>                // or "vmlinux.h"
 *   #include <bpf/bpf_helpers.h>
 *   #include <bpf/bpf_core_read.h>        // for the thread pointer
 *   #include <labelscope/read_labels.bpf.h>
 *
 *   char LICENSE[] SEC("license") = "Dual BSD/GPL";
 *
 *   struct entry {
 *     __u64 pid_tid;                      // your own head; its size is a multiple of 8 bytes
 *     struct ls_reading reading;          // begins with the labels: they follow your head
 *   };
 *   struct {                              // one for each CPU: bpf_map__set_max_entries(map,
 *     __uint(type, BPF_MAP_TYPE_ARRAY);   //                     libbpf_num_possible_cpus())
 *     __uint(max_entries, 1);
 *     __type(key, __u32);
 *     __type(value, struct entry);
 *   } entries SEC(".maps");
 *   struct {                              // user space fills it
 *     __uint(type, BPF_MAP_TYPE_HASH);
 *     __uint(max_entries, 1024);
 *     __type(key, __u32);                 // pid
 *     __type(value, struct ls_recipes);
 *   } recipes SEC(".maps");
 *   struct {
 *     __uint(type, BPF_MAP_TYPE_RINGBUF);
 *     __uint(max_entries, 1 << 20);
 *   } ring SEC(".maps");
 *
 *   static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
 *     struct entry* own = bpf_map_lookup_elem(&entries, &index);
 *     return own ? &own->reading : 0;
 *   }
 *
 *   SEC("perf_event") int sample(void* ctx) {
 *     __u64 pid_tid = bpf_get_current_pid_tgid();
 *     __u32 pid = pid_tid >> 32, index = bpf_get_smp_processor_id();
 *     struct ls_recipes* of_process = bpf_map_lookup_elem(&recipes, &pid);
 *     struct entry* own = bpf_map_lookup_elem(&entries, &index);
 *     if (!of_process || !own) return 0;
 *     own->pid_tid = pid_tid;
 *     own->reading.recipes = *of_process;
 *     ls_read_labels(index, ls_current_thread_pointer());
 *     __u64 size = sizeof(own->pid_tid) + sizeof(own->reading.labels.head) +
 *                  own->reading.labels.head.size;
 *     if (size > sizeof(own->pid_tid) + sizeof(own->reading.labels)) return 0;  // for the verifier
 *     bpf_ringbuf_output(&ring, own, size, 0);
 *     return 0;
 *   }
 *
 * `index` goes to your ls_reading_at() and has no other meaning. A reading needs no initialization
 * but its recipes. If one of these is of kind LS_IN_REGISTER (Go on aarch64), it also needs `x28`,
 * from the event's registers of user mode. Two programs that can interrupt each other on one CPU (a
 * sampler on a hardware event and a kprobe, for instance) need a reading each.
 *
 * ls_read_labels() returns an enum ls_outcome. The same outcome is in reading.labels.head, beside
 * the flags: labelled if any publisher has labels; else the reason of the first publisher that is
 * unreadable; else unlabelled. outcome.h has the bounds. A reading takes about 36 KiB of map
 * memory, of which LS_BLOCKS_LIMIT bytes are for label blocks. That is too much for the stack, and
 * for an element of a per-CPU map, which may have 32 KiB (else the kernel returns E2BIG).
 * reading.fault is the last read that failed.
 *
 * A program that uses this needs Linux 5.10, CAP_BPF and CAP_PERFMON, a program type that may call
 * bpf_probe_read_user(), and a licence that is compatible with the GPL. ls_read_labels() and the
 * walk inside it are global functions. The verifier checks each of them once, however many places
 * call it: about 50,000 instructions together, of the million that it allows. They use 300 bytes of
 * stack.
 *
 * Four macros, to be defined before this header is included:
 *   LS_READ_TASK   Reads the memory of a given task, not of the current one:
 *                  ls_read_labels(task, index, thread_pointer). For sleepable programs (task
 *                  iterators) from Linux 5.18 on, because it calls bpf_copy_from_user_task(). The
 *                  kernel brings in the pages that are not in memory.
 *   LS_BPF_LOOP    Walks with bpf_loop(), from Linux 5.17 on. The verifier then checks far fewer
 *                  instructions, and the program loads sooner. LS_READ_TASK implies it.
 *   LS_WITH_PRESETS  Reads the labels of presets, too (labelscope/preset_program.h). The program
 *                  then also defines ls_preset_at(), and a reading takes 4 KiB more.
 *   LS_WITH_READ_LOG  reading.log keeps what was read (labelscope/bpf/read_log.bpf.h), if you call
 *                  ls_begin_log() before. It is for programs of the current task.
 *
 * LS_WANTS_PRESETS and LS_WANTS_READ_LOG may be conditions for the last two. If such a one is a
 * constant of the loaded object (.rodata), the verifier leaves out what is not wanted. */
#ifndef LABELSCOPE_READ_LABELS_BPF_H
#define LABELSCOPE_READ_LABELS_BPF_H

#ifdef LS_READ_TASK
#define LS_BPF_LOOP
#endif
#ifndef LS_WANTS_PRESETS
#define LS_WANTS_PRESETS 1
#endif
#ifndef LS_WANTS_READ_LOG
#define LS_WANTS_READ_LOG 1
#endif

#ifdef __bpf__ /* tests compile the rest for the host */
#include "labelscope/bpf/thread_number.bpf.h"
#include "labelscope/bpf/thread_pointer.bpf.h"
#endif
#include "labelscope/bpf/locate.bpf.h"
#ifdef LS_WITH_PRESETS
#include "labelscope/bpf/preset.bpf.h"
#endif
#include "labelscope/bpf/sources.bpf.h"

/* One observation of one thread: its result, and what ls_read_labels() needs for it. */
struct ls_reading {
  struct ls_labels labels; /* the result */
  struct ls_walk walk;
  struct ls_fault fault; /* its size is 0 if every read has succeeded */
  struct ls_recipes recipes;
  struct ls_tls_recipe recipe; /* the recipe of the publisher that is read now */
  struct ls_go go;
#ifdef LS_WITH_PRESETS
  struct ls_preset_run preset;
#endif
#ifdef LS_WITH_READ_LOG
  struct ls_read_log log;
#endif
  /* the register in user mode, for recipes of kind LS_IN_REGISTER (aarch64); 0 if it is not
   * known */
  __u64 x28;
};

/* Your program defines this. It returns null only if its map has no such entry. */
static __always_inline struct ls_reading* ls_reading_at(__u32 index);
#ifdef LS_WITH_PRESETS
/* And this: the program of the preset with this number, or null. */
static __always_inline const struct ls_preset_program* ls_preset_at(__u32 preset);
#endif

/* The verifier checks a global function once, but a static function again for each state of each
 * caller. Global functions exist since Linux 5.6, but in 5.10 their arguments must be numbers, and
 * a task can be an argument only since 6.9. */
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
#ifdef LS_WITH_READ_LOG
#define LS_MEMORY(reading) \
  { .fault = &(reading)->fault, .log = LS_WANTS_READ_LOG ? &(reading)->log : 0 }
#else
#define LS_MEMORY(reading) \
  { .fault = &(reading)->fault }
#endif
#endif

static __always_inline void ls_clear_labels(struct ls_labels* out) {
  out->head.flags = 0;
  out->head.outcome = LS_UNLABELLED;
  out->head.block_count = 0;
  out->head.size = 0;
  out->head.reserved = 0;
}

#ifdef LS_WITH_PRESETS
/* The verifier checks one step, and not as many as there are. */
LS_FUNCTION __u32 ls_do_preset_step(LS_OF_TASK __u32 index, __u32 at) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_PRESET_END;
  struct ls_memory memory = LS_MEMORY(reading);
  struct ls_preset_host host = {&memory, &reading->labels};
  return ls_preset_run_step(&host, &reading->preset, at);
}

struct ls_preset_rounds {
#ifdef LS_READ_TASK
  struct task_struct* task;
#endif
  __u32 index;
  __u32 next; /* number of the next step */
};

LS_ROUND ls_preset_round(__u32 i, void* argument) {
  struct ls_preset_rounds* rounds = (struct ls_preset_rounds*)argument;
#ifdef LS_READ_TASK
  struct task_struct* task = rounds->task;
#endif
  (void)i;
  rounds->next = ls_do_preset_step(LS_TASK rounds->index, rounds->next);
  return rounds->next >= LS_PRESET_END;
}

/* This stands beside ls_walk_publisher(), and not below it: all functions that call
 * each other have 512 bytes of stack together, and the step needs its own part. */
LS_FUNCTION __u32 ls_walk_preset(LS_OF_TASK __u32 index, __u64 located, __u32 publisher) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_UNREADABLE_NOT_RESIDENT;
  const struct ls_tls_recipe* recipe = &reading->recipe;
  const struct ls_preset_program* program =
      ls_preset_at(((const struct ls_preset_recipe*)recipe->parameters)->preset);
  if (!program) return LS_UNREADABLE_NO_RECIPE;
  ls_begin_preset(&reading->preset, program, located, reading->preset.thread_pointer);
  struct ls_preset_rounds rounds = {
#ifdef LS_READ_TASK
      .task = task,
#endif
      .index = index};
  ls_each(LS_PRESET_STEPS, ls_preset_round, &rounds);
  return ls_end_preset(&reading->labels, &reading->preset, recipe, publisher);
}
#endif

LS_FUNCTION __u32 ls_walk_publisher(LS_OF_TASK __u32 index, __u64 variable, __u32 publisher) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_memory memory = LS_MEMORY(reading);
  return ls_walk_source(&memory, &reading->walk, &reading->go, &reading->labels, &reading->recipe,
                        variable, publisher);
}

static __always_inline __u32 ls_walk_recipe(LS_OF_TASK __u32 index, __u32 source, __u64 variable,
                                            __u32 publisher) {
#ifdef LS_WITH_PRESETS
  if (LS_WANTS_PRESETS && LS_IS_SOURCE_OF(LS_PROGRAM_SOURCES, source))
    return ls_walk_preset(LS_TASK index, variable, publisher);
#endif
  (void)source;
  return ls_walk_publisher(LS_TASK index, variable, publisher);
}

/* Reads the labels of publisher number `i`. Returns false if there is none. */
static __always_inline _Bool ls_read_publisher(LS_OF_TASK __u32 index, struct ls_reading* reading,
                                               __u64 thread_pointer, __u64 i) {
  struct ls_memory memory = LS_MEMORY(reading);
  struct ls_label_head* head = &reading->labels.head;
  struct ls_located where;

  ls_reload();
  ls_keep_together(i);
  if (i >= LS_MAX_PUBLISHERS || i >= reading->recipes.count) return 0;
  reading->recipe = reading->recipes.recipe[i];
  ls_locate(&memory, &reading->recipe, thread_pointer, reading->x28, &where);
  head->flags |= where.flags;
  if (where.outcome == LS_LABELLED)
    where.outcome = ls_walk_recipe(LS_TASK index, reading->recipe.source, where.address, i);
  if (where.outcome > LS_UNLABELLED) {
    head->flags |= LS_PARTLY_UNREADABLE;
    /* Only the first reason is kept. */
    if (head->outcome == LS_UNLABELLED) head->outcome = where.outcome;
  }
  return 1;
}

#ifdef LS_READ_TASK
/* In a plain loop the verifier checks a static function again in each round. In a bpf_loop() (Linux
 * 5.17) it does not. */
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

/* Reads all publishers of one process for one thread. The recipes are in the reading. */
LS_FUNCTION __u32 ls_read_labels(LS_OF_TASK __u32 index, __u64 thread_pointer) {
  struct ls_reading* reading = ls_reading_at(index);
  if (!reading) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_label_head* head = &reading->labels.head;

  ls_clear_labels(&reading->labels);
  reading->fault.size = 0;
#ifdef LS_WITH_PRESETS
  reading->preset.thread_pointer = thread_pointer;
#endif
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
  if (head->outcome != LS_UNLABELLED) head->flags &= ~LS_WHY_UNLABELLED;
  return head->outcome;
}

#endif /* LABELSCOPE_READ_LABELS_BPF_H */
