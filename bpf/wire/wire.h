/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the records that the BPF programs send through the ring buffer, and the settings that
 * user space gives them. They are plain C of fixed width, without pointers, with explicit padding,
 * and are used in bpf/ only.
 *
 *   SAMPLE            ls_sample_head, ls_label_head, label blocks, user addresses, kernel addresses
 *                     (both leaf first)
 *   LABELS            ls_labels_head, ls_label_head, label blocks: the repeated read of a SAMPLE
 *   LABEL_SET         ls_label_set_head, ls_label_head, label blocks: what has this number
 *   FORK, EXEC, EXIT  ls_process_event
 *   THREAD_END        ls_thread_end
 *   THREAD_WAITS      ls_thread_waits
 *
 * Label heads and blocks are those of labelscope/label_blocks.h. Every section starts 8-aligned.
 *
 * A thread_ns is the CPU time of a thread since its creation, as the kernel counts it. While the
 * thread runs, it is up to a scheduler tick behind.
 *
 * An identity says which thread it is, whatever its number: a thread that executes a program takes
 * the number of the first thread of its process, and numbers are used again. No two threads that
 * exist at the same time have one, but by chance, and none is 0.
 *
 * A life says the same of a process: which of those that have had its number, and which of the
 * programs that it has executed. It is the time at which that began (ls_life_at()):
 *
 *   process 100    | fork ......... | exec ............... exit |      | fork ...
 *   lives          a                b                                  c
 *
 * Two lives of one number are equal only if they began a multiple of 73 minutes apart, to the
 * microsecond. None is 0. */
#ifndef LABELSCOPE_BPF_WIRE_H
#define LABELSCOPE_BPF_WIRE_H

#include "labelscope/label_blocks.h"
#include "labelscope/tls_recipe.h"
#include "sampling/blame_kind.h"
#include "sampling/sample_kind.h"
#include "unwind/stack.h"

enum ls_record_type {
  LS_RECORD_SAMPLE = 1,
  LS_RECORD_LABELS = 2,
  LS_RECORD_FORK = 3,
  LS_RECORD_EXEC = 4,
  LS_RECORD_EXIT = 5,
  LS_RECORD_THREAD_END = 6,
  LS_RECORD_LABEL_SET = 7,
  LS_RECORD_THREAD_WAITS = 8
};

#define LS_COMM_SIZE 16
/* The limit for each part of a stack that the kernel takes. It is the default of
 * kernel.perf_event_max_stack, beyond which the kernel does not go. */
#define LS_MAX_FRAMES 127
/* The limit for the user's part, if labelscope's own program takes it. */
#define LS_MAX_USER_FRAMES 512

/* So many repeated reads can wait for the disk at the same time. */
#define LS_RETRY_SCRATCHES 64

/* The programs that take samples. None of them interrupts itself, but one may interrupt another: a
 * perf event comes in the middle of whatever runs on its CPU. So each program has a slot of its own
 * on each CPU: an entry of each map that it writes to without a lock. */
enum ls_sampling_program {
  LS_PROGRAM_EVENT = 0,  /* sample() */
  LS_PROGRAM_SWITCH = 1, /* on_switch(), on_block() and on_waking(): none interrupts another */
  LS_SAMPLING_PROGRAMS = 2
};
/* In the place of the first slot of a program that is not used: no map has so many entries. */
#define LS_NO_SLOT 0x80000000U

static inline __u32 ls_life_at(__u64 time_ns) {
  const __u32 life = time_ns >> 10 & 0xffffffffU;
  return life ? life : 1;
}

struct ls_record_head {
  __u32 size; /* size of the whole record, this member included */
  __u32 type; /* enum ls_record_type */
};

struct ls_stack_head {
  __u16 user_frames;
  __u16 kernel_frames;
  __u8 end;       /* enum ls_stack_end: how the user's part ends */
  __u8 has_kinds; /* user frames are words of stack.h; otherwise addresses */
};

struct ls_sample_head {
  struct ls_record_head record;
  __u64 time_ns;  /* CLOCK_MONOTONIC */
  __u64 retry_id; /* if not 0, outcome and labels are provisional, and a LABELS record follows */
  __u64 thread_ns;
  __u64 weight_ns; /* as in Sample; 0 if the sample's time follows from thread_ns */
  __u32 pid;
  __u32 tid;
  __u8 comm[LS_COMM_SIZE];
  struct ls_stack_head stack;
  __u8 kind; /* enum ls_sample_kind */
  __u8 reserved;
  __s32 system_call; /* of a wait: its number, or LS_CALL_... (sampling/sample_kind.h) */
  __u32 identity;    /* of the thread, as above */
  __u32 life;        /* of the process, as above */
  __u32 list;        /* of mappings, by which the stack was taken (unwind_wire.h); 0: by none */
};

struct ls_labels_head {
  struct ls_record_head record;
  __u64 retry_id;
};

/* It comes before the first use of its number, or some other record of the same number does. */
struct ls_label_set_head {
  struct ls_record_head record;
  __u64 number; /* label_number.bpf.h */
  __u32 pid;
  __u32 life;
  __u32 choice; /* enum ls_choice: only labels of its keys are in the number */
  __u32 reserved;
};

struct ls_process_event {
  struct ls_record_head record;
  __u64 time_ns;
  __u64 thread_ns; /* EXEC only: the CPU time of the thread that goes on */
  __u32 pid;
  __u32 parent;     /* FORK only */
  __u32 life;       /* that which begins, or, of an EXIT, ends */
  __u32 former;     /* EXEC only: that thread's number before, or 0 if that is not known */
  __u32 identity;   /* EXEC only: of that thread */
  __u32 from_life;  /* FORK: the parent's */
  __u8 comm[LS_COMM_SIZE]; /* EXEC: the name of the process from now on; EXIT: its last one */
};

struct ls_thread_end {
  struct ls_record_head record;
  __u64 thread_ns;
  __u32 pid;
  __u32 tid;
  __u64 time_ns; /* when it ended */
  __u32 identity;
  __u32 life; /* of its process */
};

/* What the program `thread_times` writes of each thread. */
struct ls_thread_time {
  __u64 thread_ns;
  __u32 pid;
  __u32 tid;
  __u32 identity;
  __u32 is_worker; /* of io_uring */
};

/* A thread that has ended and that the kernel has not freed yet. Its CPU time is complete only when
 * it is freed. */
struct ls_ending {
  __u64 thread_ns; /* its CPU time when it ended */
  __u32 pid;
  __u32 tid;
  __u64 time_ns; /* when it ended */
  __u32 identity;
  __u32 life; /* of its process */
};

/* An end for whose record the ring had no room. A number may be used again meanwhile. */
struct ls_end_key {
  __u64 time_ns; /* when it ended */
  __u32 pid;
  __u32 tid;
};

/* So many ends of threads are kept for the end of the recording if the ring has no room. */
#define LS_MAX_UNSENT_ENDS 4096

/* This is a value of the map of processes. The key is the pid as labelscope's own pid namespace
 * counts. */
struct ls_process {
  /* The key of the entry. The kernel uses its room again at once, and copies from the front to the
   * end: so both words show whose it still is when it was copied. */
  __u32 pid;
  __u32 born; /* the first life of the process */
  struct ls_recipes recipes;
  __u32 life;       /* the recipes are for this one */
  __u32 parent;     /* 0 unless on_fork() made this entry */
  /* This is used only with LS_THREAD_POINTER_LAGS. If it is true, the saved thread pointer of the
   * process's first thread is right for this program; otherwise it is not used. */
  __u32 first_pointer_known;
  __u32 until_exec; /* it is still labelscope's own child: samples count after an exec */
  __u64 plan;       /* distinguishes recipes: equal label bytes under others mean something else */
  __u32 pid_again;
  __u32 reserved_too;
};

/* As many entries as `maybe_recorded` has. */
#define LS_PID_REMAINDERS 4096

/* A wait has two parts: until the thread is woken, and from then on until it has a processor. In
 * the first part signals may interrupt the thread, or not (state D, mostly for a device). */
enum ls_wait_part {
  LS_PART_WAITING = 0,
  LS_PART_UNINTERRUPTIBLE = 1,
  LS_PART_RUNNABLE = 2,
  LS_WAIT_PARTS = 3
};

/* Numbers of label sets below the first are outcomes, or one of these. */
#define LS_LABELS_LATER 30 /* they are not read yet: something is missing */
#define LS_FIRST_LABEL_NUMBER 32
LS_ASSERT(LS_OUTCOME_COUNT <= LS_LABELS_LATER);

/* All waits of one kind under one label set. */
struct ls_wait_key {
  __u64 labels; /* a number as above */
  __u32 pid;
  __u32 life;
  __s32 system_call; /* as in ls_sample_head */
  __u16 part;        /* enum ls_wait_part */
  __u16 generation;  /* user space takes totals out by this (wait_totals.bpf.h) */
};

/* This bit is in the generation of blame while the labels of who waited are missing: `labels` is a
 * number that `late_labels` will have (blame.bpf.h). */
#define LS_GENERATION_LATE 0x8000u

struct ls_wait_total {
  __u64 ns;
  __u64 count;
  __u32 log2[LS_WAIT_BUCKETS];
};

/* Who made a thread wait. */
struct ls_blamed {
  __u64 labels; /* of a thread: a number as above */
  __u32 pid;    /* of a thread, as labelscope counts */
  __u32 kind;   /* enum ls_blame_kind */
  union {
    __u8 comm[LS_COMM_SIZE]; /* of LS_BLAME_PROCESS: its name */
    __u32 life;              /* of a thread: its process's */
  };
};

/* All waits of one total for which one is to blame. */
struct ls_blame_key {
  struct ls_wait_key wait;
  struct ls_blamed who;
};

struct ls_blame_total {
  __u64 ns;
  __u64 count;
};

/* What else is known of the number of a label set that user space has been sent. */
struct ls_published {
  __u64 blame;     /* number of the same labels in blame */
  __u64 by_choice; /* whether that is one of LS_CHOICE_OF_BLAME */
};

/* Who has let go of which lock: has woken a thread that waited for it. Both words of a rwlock are
 * in one piece of 8 bytes, so the address counts in these. */
struct ls_letting_go {
  __u64 lock;
  __u32 pid; /* as the kernel counts */
  __u32 tid;
};

/* The owner of a lock. */
struct ls_owner {
  struct ls_blamed who;
  struct ls_letting_go
      who_lets_go; /* the entry that it would have; `lock` is 0 if none is needed */
};

/* What is known of a thread that waits: the key is that of `off_cpu_threads`. */
struct ls_woken {
  struct ls_blamed waker; /* of its last wake-up */
  struct ls_owner owner;  /* of the lock for which it waits */
  __u64 owner_ns;         /* when it left its processor for that; 0: never */
  __u32 other_lets_go;    /* another thread than the owner has woken it at the lock */
  __u32 reserved;
  __u64 late; /* the number of blame while labels are missing; 0: there is none */
};

/* A recording may be cut into windows (wait_window.bpf.h). The word of a window is the time of the
 * cut at which it has begun, but in place of the lowest bits it has the generation of totals:
 *
 *   bit 1   changes with each window
 *   bit 0   changes each time that user space takes totals out of a window
 *
 * What is added up has a sum for the window that is there, and one for that before, which user
 * space takes meanwhile. */
#define LS_GENERATIONS 4
#define LS_WINDOW_SLOTS 2
static inline __u64 ls_cut_of(__u64 window) { return window & ~(LS_GENERATIONS - 1ULL); }
static inline __u32 ls_generation_of(__u64 window) { return window & (LS_GENERATIONS - 1); }
static inline __u32 ls_slot_in(__u64 window) { return window >> 1 & (LS_WINDOW_SLOTS - 1); }

/* How long a thread has waited since it is known, whatever its labels were: in every second
 * window. */
struct ls_wait_sums {
  __u64 ns[LS_WAIT_PARTS];
  __u64 waits; /* so many have ended: each is a switch to the thread */
};
struct ls_wait_account {
  __u64 begun_ns;     /* when it became known */
  __u64 begun_ran_ns; /* its thread_ns then */
  struct ls_wait_sums in[LS_WINDOW_SLOTS];
};

/* A wait that was open at a cut, and has ended since. */
struct ls_divided_wait {
  __u64 cut_ns; /* of the last cut that was in a wait of this thread; 0: none was */
  __u64 left_ns;
  __u64 woken_ns;
  __u64 left_ran_ns;
  __u64 labels;
  __u32 life;
  __s32 system_call;
  __u32 part;
  __u32 reserved;
};

/* Waits that have ended while their labels were missing. */
struct ls_late_waits {
  __u64 cut_ns; /* the cut at which their window began */
  __u64 labels; /* what they were, if that was read after their window had ended; or 0 */
  __u64 ns[LS_WAIT_PARTS];
  __u64 count[LS_WAIT_PARTS];       /* so many waits */
  __s32 system_call[LS_WAIT_PARTS]; /* of the first of these */
  __u32 life;
};

/* The account of a thread that has left its last processor. */
struct ls_thread_waits {
  struct ls_record_head record;
  struct ls_wait_account account;
  struct ls_divided_wait divided;
  struct ls_late_waits late; /* of the window before */
  __u64 ended_ns;
  __u64 thread_ns; /* complete: the thread does not run */
  __u32 pid;
  __u32 tid;
  __u32 life;
  __u32 reserved;
};

/* A thread in a pid namespace has sent its account when it exited, and is known by its labels. */
#define LS_EXITS_SETTLED 2

/* Waits under one label set and of one reason for whose total there was no room. */
struct ls_held_waits {
  __u64 labels; /* number of the label set */
  __u64 ns[LS_WAIT_PARTS];
  __u64 count[LS_WAIT_PARTS]; /* so many waits */
  __s32 system_call;          /* as in ls_sample_head */
  __u32 reserved;
};

/* A thread of a recorded process, as a value of the map `off_cpu_threads` (off_cpu.bpf.h). Its
 * times are by CLOCK_MONOTONIC. */
struct ls_off_cpu {
  __u64 left_ns;                   /* when it left its processor; 0 while it has one */
  __u64 woken_ns;                  /* when it was woken; 0: not yet */
  __u64 labels;                    /* number of its label set when it left */
  __u64 blame_labels;              /* the same in blame, which may be by fewer labels */
  __u64 drawn_ns[LS_WAIT_PARTS];   /* weights of waits that were drawn and not yet sent */
  __u32 pid;                       /* as labelscope counts */
  __s32 system_call;               /* as in ls_sample_head */
  __u32 part;                      /* enum ls_wait_part: its first part */
  __u32 at_work;                   /* its task work is scheduled */
  __u32 tid;                       /* as labelscope counts */
  __u32 life;                      /* of its process when it left */
  struct ls_wait_account account;
  __u64 left_ran_ns; /* its thread_ns when it left */
  __u64 came_ns;     /* when it got its processor the last time */
  __u32 exits;       /* it has exited, and does not run much longer; or LS_EXITS_SETTLED */
  /* What reading with page faults allowed has found: so often in a row nothing, and when that was
   * the last time. */
  __u32 failed_reads;
  __u64 failed_ns;
  __u64 failed_labels; /* the outcome, as a number of labels */
  __u64 last_labels;   /* in blame, of the last label set before its exit; 0: there was none */
  struct ls_held_waits held;
  struct ls_divided_wait divided;
  struct ls_late_waits late[LS_WINDOW_SLOTS]; /* they count as soon as the labels are read */
#ifdef __bpf__
  struct bpf_task_work work;
#else
  __u64 work; /* is the kernel's alone */
#endif
};

/* How many totals were made, and the time of waits for whose totals there was no room. */
struct ls_totals_made {
  __u64 waits;
  __u64 blame;
  __u64 lost_ns[LS_WAIT_PARTS];
};

/* The secret of a recording that its label numbers depend on (label_number.bpf.h). */
struct ls_label_key {
  __u64 words[2];
};

/* By which labels sets get numbers. In totals of waits those do not count that no output has. In
 * blame only those count that it is asked for by, once there are too many pairs of label sets. */
enum ls_choice { LS_CHOICE_OF_WAITS = 0, LS_CHOICE_OF_BLAME = 1, LS_CHOICES = 2 };
#define LS_CHOICE_OF_ALL LS_CHOICES
enum ls_key_rule { LS_KEYS_ALL = 0, LS_KEYS_ONLY = 1, LS_KEYS_BUT = 2 };
#define LS_MOST_CHOSEN_KEYS 16

struct ls_key_choice {
  __u32 how;   /* enum ls_key_rule */
  __u32 which; /* enum ls_choice */
  __u64 keys[LS_MOST_CHOSEN_KEYS]; /* numbers of keys (load/key_choice.h); some may be there twice */
  __u8 skipped[LS_SOURCE_COUNT];   /* by enum ls_source: so many bytes of a raw block do not count */
};

/* User space sets this before it loads the programs: the verifier then removes the code that is
 * turned off. */
struct ls_config {
  __u32 pid_namespace; /* inode number of labelscope's pid namespace, or 0 for the initial one */
  __u32 call_graph;    /* enum ls_call_graph */
  __u32 kernel_stacks;
  __u32 follow_children;
  __u32 worker_flag; /* bit of task->flags that marks io_uring's threads; 0 if there is none */
  /* By enum ls_sampling_program: the slot of CPU 0, which those of the others follow. */
  __u32 first_slot[LS_SAMPLING_PROGRAMS];
  __u32 blame; /* waits are blamed on others (blame.bpf.h) */
  /* with `blame`: the bits of the kernel's preempt_count that are of hard interrupts */
  __u32 hard_interrupt;
  /* What is not wanted, the verifier leaves out: half of all that it would look at. */
  __u32 presets;     /* recipes of presets may come (SamplerOptions::presets) */
  __u32 keeps_reads; /* what was read is kept for the thread's next wait (label_memory.bpf.h) */
  __u32 reserved;
  struct ls_label_key label_key;
  __u64 code_mask; /* the bits of a return address that are not its signature (aarch64) */
  /* x86-64, with `blame`: bytes from a processor's run queue to its preempt_count */
  __s64 preempt_count_distance;
  __u64 wakeup_bytes; /* fill level of the ring buffer at which its reader is woken */
};

LS_ASSERT(sizeof(struct ls_sample_head) == 88);
LS_ASSERT(sizeof(struct ls_labels_head) == 16);
LS_ASSERT(sizeof(struct ls_process_event) == 64);
LS_ASSERT(sizeof(struct ls_thread_end) == 40);
LS_ASSERT(sizeof(struct ls_thread_time) == 24);
LS_ASSERT(sizeof(struct ls_ending) == 32);
LS_ASSERT(sizeof(struct ls_process) == 48 + LS_MAX_PUBLISHERS * sizeof(struct ls_tls_recipe));
LS_ASSERT(sizeof(struct ls_end_key) == 16);
LS_ASSERT(sizeof(struct ls_label_set_head) == 32);
LS_ASSERT(sizeof(struct ls_wait_key) == 24);
LS_ASSERT(sizeof(struct ls_wait_total) == 144);
LS_ASSERT(sizeof(struct ls_blamed) == 32);
LS_ASSERT(sizeof(struct ls_blame_key) == 56);
LS_ASSERT(sizeof(struct ls_wait_account) == 80);
LS_ASSERT(sizeof(struct ls_divided_wait) == 56);
LS_ASSERT(sizeof(struct ls_late_waits) == 80);
LS_ASSERT(sizeof(struct ls_thread_waits) == 256);
LS_ASSERT(sizeof(struct ls_woken) == 104);
LS_ASSERT(sizeof(struct ls_off_cpu) == 496);
LS_ASSERT(sizeof(struct ls_config) == 88);
LS_ASSERT(sizeof(struct ls_key_choice) == 16 + 8 * LS_MOST_CHOSEN_KEYS);
LS_ASSERT(__builtin_offsetof(struct ls_sample_head, pid) == 40);
LS_ASSERT(__builtin_offsetof(struct ls_sample_head, stack) == 64);
LS_ASSERT(__builtin_offsetof(struct ls_sample_head, kind) == 70);

#endif /* LABELSCOPE_BPF_WIRE_H */
