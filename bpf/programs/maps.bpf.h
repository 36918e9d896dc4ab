/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This header has the maps that every program uses, the configuration, slots, and counters. User
 * space sets the sizes of `processes`, `lives`, `presets`, `ring` and `scratch` before it
 * loads them. */
#ifndef LABELSCOPE_BPF_MAPS_BPF_H
#define LABELSCOPE_BPF_MAPS_BPF_H

#include "bpf/wire/counters.h"
#include "bpf/wire/wire.h"

/* There is room for both parts of a stack. */
#define LS_ROOM_BEHIND_BLOCKS ((LS_MAX_USER_FRAMES + LS_MAX_FRAMES) * 8)
#ifdef __bpf__
const volatile struct ls_config config = {};
#else
extern struct ls_config config; /* tests set it */
#endif

/* Returns the secret word by word. A copy of the whole is not volatile to the compiler: it takes
 * the zeros that are in the source, and all numbers could be foreseen. */
static __always_inline struct ls_label_key ls_secret(void) {
  return (struct ls_label_key){{config.label_key.words[0], config.label_key.words[1]}};
}

#define LS_WITH_PRESETS
#define LS_WANTS_PRESETS config.presets
#ifdef LS_WITH_RETRY /* the kernel that can repeat reads can measure waits, too (off_cpu.bpf.h) */
#define LS_WITH_READ_LOG
#define LS_WANTS_READ_LOG config.keeps_reads
#endif
#include "bpf/programs/label_number.bpf.h"

/* What a label set is in totals of waits, and in blame. */
struct ls_numbers {
  __u64 labels;
  __u64 blame;
};

/* A record under construction, which is too large for the stack. The bytes that are sent must be
 * contiguous: a head, right behind it the reading's labels, and the stacks behind them. The head of
 * an answer is shorter than that of a sample, so it lies at the end of the union. */
struct ls_scratch {
  __u64 last_wakeup_ns;
  __u64 retries;    /* how many repeated reads this entry has scheduled, a part of their ids */
  __u32 life;       /* of the process (wire.h) */
  __u32 first_pointer_known; /* as in ls_process */
  __u64 ended;               /* the process has: only its kernel stack is left to look at */
  __u64 is_worker;           /* a thread of io_uring, which runs no user code */
  __u64 plan;                /* as in ls_process */
  struct ls_numbering numbering;
  struct ls_numbers numbers; /* of ls_name_labels() */
  union {
    struct ls_sample_head sample;
    struct {
      __u8 unused[sizeof(struct ls_sample_head) - sizeof(struct ls_labels_head)];
      struct ls_labels_head answer;
    };
    struct {
      __u8 unused_too[sizeof(struct ls_sample_head) - sizeof(struct ls_label_set_head)];
      struct ls_label_set_head label_set;
    };
  };
  struct ls_reading reading;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_process);
  __uint(max_entries, 4096);
} processes SEC(".maps");

/* Programs of presets, by their numbers in recipes. User space puts a program here before a recipe
 * names it, and removes those that no recipe names. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_preset_program);
  __uint(max_entries, 1);
} presets SEC(".maps");

static __always_inline const struct ls_preset_program* ls_preset_at(__u32 preset) {
  return bpf_map_lookup_elem(&presets, &preset);
}

/* Whether a process may be recorded, by the remainder of its number: 0 means that it is not. One
 * load finds that out, in programs that see every switch of the machine. Nothing is ever set back
 * to 0: another process may have the same remainder. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, LS_PID_REMAINDERS);
} maybe_recorded SEC(".maps");

static __always_inline _Bool ls_may_be_recorded(__u32 pid) {
  __u32 remainder = pid % LS_PID_REMAINDERS;
  const __u32* may = bpf_map_lookup_elem(&maybe_recorded, &remainder);
  return may && *may;
}

static __always_inline void ls_note_recorded(__u32 pid) {
  __u32 remainder = pid % LS_PID_REMAINDERS;
  __u32* may = bpf_map_lookup_elem(&maybe_recorded, &remainder);
  if (may) *may = 1;
}

/* The life of each process (wire.h). Only on_exec() changes it. It is not in `processes`, because
 * user space replaces whole entries of that map, and an exec at that moment would get lost. The
 * recipes in `processes` have the life that they are for, and are valid only while that is the one
 * here. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 4096);
} lives SEC(".maps");

/* Processes that have ended lately, by their `signal_struct`, which all threads of a process share.
 * A thread may announce its end after the last one has. */
struct ls_ended {
  __u32 pid;
  __u32 life; /* its last one */
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __type(key, __u64);
  __type(value, struct ls_ended);
  __uint(max_entries, 1024);
} ended_processes SEC(".maps");

/* The key is the address of the task_struct, which no other task has until this one is freed. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u64);
  __type(value, struct ls_ending);
  __uint(max_entries, 16384);
} endings SEC(".maps");

/* The ends of threads for whose records the ring had no room. User space reads them when it stops.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct ls_end_key);
  __type(value, struct ls_ending);
  __uint(max_entries, LS_MAX_UNSENT_ENDS);
} unsent_ends SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 * 1024 * 1024);
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_counters);
  __uint(max_entries, LS_COUNTERS_ENTRIES);
} counters SEC(".maps");

/* There is one entry for each slot, then LS_RETRY_SCRATCHES for repeated reads. A per-CPU map would
 * not do: a sample or another repeated read can interrupt a repeated read, so each needs its own
 * entry. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_scratch);
  __uint(max_entries, 1);
} scratch SEC(".maps");

/* What a program that takes samples has for itself on this CPU. */
struct ls_slot {
  __u32 program; /* enum ls_sampling_program: its entry of `counters` */
  __u32 index;   /* its entry of `scratch`, and of what takes stacks (unwind.bpf.h) */
};

static __always_inline struct ls_slot ls_slot_of(enum ls_sampling_program program) {
  struct ls_slot slot = {program, config.first_slot[program] + bpf_get_smp_processor_id()};
  return slot;
}

static __always_inline struct ls_scratch* ls_scratch_at(__u32 index) {
  return bpf_map_lookup_elem(&scratch, &index);
}

static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
  struct ls_scratch* own = ls_scratch_at(index);
  return own ? &own->reading : 0;
}

/* A recorded process, by its entries in both maps. User space adds the life first and removes it
 * last, so for a moment there is a life alone: an exec at that moment begins another one, too. */
struct ls_found_process {
  __u32* life;                /* null if the process is not recorded */
  struct ls_process* process; /* null if it is not sampled */
  __u32 pid;
};

/* Every program finds out here which processes are recorded. */
static __always_inline struct ls_found_process ls_find_process(__u32 pid) {
  struct ls_found_process found = {.life = bpf_map_lookup_elem(&lives, &pid), .pid = pid};
  if (found.life) found.process = bpf_map_lookup_elem(&processes, &pid);
  return found;
}

static __always_inline _Bool ls_is_entry_of(const struct ls_process* process, __u32 pid) {
  return process->pid == pid && process->pid_again == pid;
}

/* Returns whether what was read of a process's entry was of its program of this life. After an exec
 * the recipes are still those of the old one. The kernel also uses the room of an entry again at
 * once when it is replaced, while a program that an interrupt has stopped reads it. */
static __always_inline _Bool ls_was_of_life(const struct ls_found_process* found, __u32 life) {
  ls_reload();
  return life == found->process->life && ls_is_entry_of(found->process, found->pid);
}

/* Copies what a sample needs from the entry of the current process, which is sampled. If the entry
 * is not of its program, the process gets the recipe of a library that is being loaded, until user
 * space brings its own: there may be labels, and a later plan will find them. */
static __always_inline void ls_copy_process(struct ls_scratch* own,
                                            const struct ls_found_process* found) {
  const struct ls_process* process = found->process;
  __builtin_memcpy(&own->reading.recipes, &process->recipes, sizeof(process->recipes));
  own->life = *found->life;
  own->first_pointer_known = process->first_pointer_known;
  own->plan = process->plan;
  if (!ls_was_of_life(found, own->life)) {
    own->reading.recipes.count = 1;
    own->reading.recipes.recipe[0].kind = LS_RECIPE_NOT_RELOCATED;
  }
}

/* This counts for programs that take samples. */
static __always_inline void ls_count(struct ls_slot slot, __u32 counter) {
  struct ls_counters* all = bpf_map_lookup_elem(&counters, &slot.program);
  if (all && counter < LS_COUNTER_COUNT) all->value[counter]++;
}

/* This counts for all other programs. */
static __always_inline void ls_add_other(__u32 counter, __u64 amount) {
  __u32 entry = LS_COUNTERS_OTHERS;
  struct ls_counters* all = bpf_map_lookup_elem(&counters, &entry);
  if (all && counter < LS_COUNTER_COUNT) __sync_fetch_and_add(&all->value[counter], amount);
}

static __always_inline void ls_count_other(__u32 counter) { ls_add_other(counter, 1); }

#endif /* LABELSCOPE_BPF_MAPS_BPF_H */
