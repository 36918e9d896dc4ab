/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the BPF programs send through the ring buffer, and what user space tells them. Plain C,
 * fixed width, no pointers, explicit padding; never leaves bpf/.
 *
 *   SAMPLE  ls_sample_head, ls_label_head, label blocks, user addresses, kernel addresses (leaf
 * first) LABELS  ls_labels_head, ls_label_head, label blocks: the repeated read of the SAMPLE with
 * that id FORK, EXEC, EXIT   ls_process_event
 *
 * A label block holds one publisher's labels: ls_label_block, ls_label_ref[label_count], then
 * byte_count bytes that the references point into (between the strings there may be bytes that
 * belong to no label), filled up with zeros to 8. Every section starts 8-aligned. */
#ifndef LABELSCOPE_BPF_WIRE_H
#define LABELSCOPE_BPF_WIRE_H

#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

enum ls_record_type {
  LS_RECORD_SAMPLE = 1,
  LS_RECORD_LABELS = 2,
  LS_RECORD_FORK = 3,
  LS_RECORD_EXEC = 4,
  LS_RECORD_EXIT = 5
};

#define LS_COMM_SIZE 16
/* kernel.perf_event_max_stack's default: the kernel itself goes no deeper. */
#define LS_MAX_FRAMES 127

/* As many repeated reads can wait for the disk at the same time. */
#define LS_RETRY_SCRATCHES 64

struct ls_record_head {
  __u32 size; /* of the whole record, this included */
  __u32 type; /* enum ls_record_type */
};

struct ls_sample_head {
  struct ls_record_head record;
  __u64 time_ns;  /* CLOCK_MONOTONIC */
  __u64 retry_id; /* not 0: outcome and labels are provisional, a LABELS record follows */
  __u32 pid;
  __u32 tid;
  __u8 comm[LS_COMM_SIZE];
  __u16 user_frames;
  __u16 kernel_frames;
  __u32 reserved;
};

struct ls_labels_head {
  struct ls_record_head record;
  __u64 retry_id;
};

struct ls_label_head {
  __u32 flags; /* enum ls_sample_flag */
  __u16 outcome;
  __u16 block_count;
  __u32 size; /* of all label blocks, a multiple of 8 */
  __u32 reserved;
};

struct ls_label_block {
  __u16 publisher;
  __u16 label_count;
  __u32 byte_count;
};

struct ls_label_ref {
  __u16 key_offset; /* offsets count from the first byte after the references */
  __u16 key_length;
  __u16 value_offset;
  __u16 value_length;
};

struct ls_process_event {
  struct ls_record_head record;
  __u64 time_ns;
  __u32 pid;
  __u32 parent; /* FORK only */
  __u32 image;  /* how often the process has replaced its program since it is known */
  __u32 reserved;
};

enum ls_process_flag {
  /* In the copy that a sample uses, after exec: the recipes are of the program that is gone. Until
   * the new ones come the outcome is LS_UNREADABLE_NOT_RELOCATED, since the state is the same as
   * for a library that is being loaded: there may be labels, and a later plan will find them. */
  LS_PROCESS_UNPLANNED = 1 << 0
};

/* Value of the map of processes; the key is the pid as labelscope's own pid namespace counts. */
struct ls_process {
  __u32 recipe_count;
  __u32 flags;  /* enum ls_process_flag */
  __u32 image;  /* that the recipes are for */
  __u32 parent; /* 0 unless the kernel side made this entry at a fork */
  struct ls_tls_recipe recipes[LS_MAX_PUBLISHERS];
};

/* Set before the programs are loaded, so that the verifier removes what is turned off. */
struct ls_config {
  __u32 pid_namespace; /* inode number of labelscope's pid namespace; 0: the initial one */
  __u32 user_stacks;
  __u32 kernel_stacks;
  __u32 follow_children;
  __u32 worker_flag;  /* bit of task->flags that marks io_uring's threads, 0 where there is none */
  __u32 task_btf;     /* bpf_get_current_task_btf exists (5.11) */
  __u64 wakeup_bytes; /* fill level of the ring buffer at which its reader is woken */
};

#ifdef __cplusplus
#define LS_ASSERT(condition) static_assert(condition, #condition)
#else
#define LS_ASSERT(condition) _Static_assert(condition, #condition)
#endif
LS_ASSERT(sizeof(struct ls_sample_head) == 56);
LS_ASSERT(sizeof(struct ls_labels_head) == 16);
LS_ASSERT(sizeof(struct ls_label_head) == 16);
LS_ASSERT(sizeof(struct ls_label_block) == 8);
LS_ASSERT(sizeof(struct ls_label_ref) == 8);
LS_ASSERT(sizeof(struct ls_process_event) == 32);
LS_ASSERT(sizeof(struct ls_process) == 16 + LS_MAX_PUBLISHERS * 32);
LS_ASSERT(sizeof(struct ls_config) == 32);
LS_ASSERT(__builtin_offsetof(struct ls_sample_head, pid) == 24);
LS_ASSERT(__builtin_offsetof(struct ls_sample_head, user_frames) == 48);
LS_ASSERT(__builtin_offsetof(struct ls_label_head, size) == 8);

#endif /* LABELSCOPE_BPF_WIRE_H */
