/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the iterators of task_snapshot.bpf.c write, and what user space asks of them. Plain C of
 * fixed width, without pointers, with explicit padding. Used in bpf/ only.
 *
 *   THREAD   ls_thread_head, ls_label_head, label blocks (labelscope/label_blocks.h)
 *   BYTES    ls_bytes_head, the bytes asked for if there was no error
 *   MAPPING  ls_mapping_head, the path of its file, filled up with zeros to 8
 *   AUXV     ls_task_record, the process's auxiliary vector
 *
 * Every record is 8-aligned and starts with ls_task_record. */
#ifndef LABELSCOPE_BPF_SNAPSHOT_WIRE_H
#define LABELSCOPE_BPF_SNAPSHOT_WIRE_H

#include "labelscope/label_blocks.h"
#include "labelscope/tls_recipe.h"

enum ls_task_record_type {
  LS_RECORD_THREAD = 1,
  LS_RECORD_BYTES = 2,
  LS_RECORD_MAPPING = 3,
  LS_RECORD_AUXV = 4
};

#define LS_THREAD_COMM_SIZE 16
/* The kernel has room for 8 pages of records. A larger record would be an error. */
#define LS_MOST_BYTES 16384
#define LS_MOST_PATH 4096
#define LS_MOST_AUXV 1024

/* Identifies a program of a process. It changes when the process executes another program. */
struct ls_running_program {
  __u64 start_time; /* of the process's first thread */
  __u64 exec_id;    /* grows with each exec */
};

struct ls_task_record {
  __u32 size; /* of the whole record, this included */
  __u32 type; /* enum ls_task_record_type */
  struct ls_running_program program;
};

struct ls_thread_head {
  struct ls_task_record record;
  __u64 thread_pointer;
  __u32 tid;
  __u32 state;      /* the kernel's task->__state */
  __u32 exit_state; /* and task->exit_state */
  __u32 no_memory;  /* the thread has given up its address space: it has no labels any more */
  __u8 comm[LS_THREAD_COMM_SIZE];
  /* The thread was on a processor, so the saved thread pointer may be an old one. */
  __u32 pointer_lags;
  __u32 reserved;
};

struct ls_bytes_head {
  struct ls_task_record record;
  __s64 error; /* 0, or negative: there are no bytes */
};

enum ls_mapping_flag {
  LS_MAPPING_READABLE = 1 << 0, /* these three are the kernel's VM_READ, VM_WRITE, VM_EXEC */
  LS_MAPPING_WRITABLE = 1 << 1,
  LS_MAPPING_EXECUTABLE = 1 << 2
};

struct ls_mapping_head {
  struct ls_task_record record;
  __u64 start;
  __u64 end;
  __u64 page_offset; /* in the file, in pages */
  __u64 inode;       /* 0: no file */
  __u32 device;      /* as the kernel counts: major << 20 | minor */
  __u32 flags;       /* enum ls_mapping_flag */
  __u32 path_size;   /* without the zeros behind it */
  __u32 reserved;
};

/* The only value of the map `request`. */
struct ls_request {
  __u64 address; /* BYTES */
  __u32 size;    /* BYTES: LS_MOST_BYTES at most */
  __u32 pid;
  __u32 done; /* set by the BPF program: one thread has answered for all */
  __u32 reserved;
  struct ls_recipes recipes; /* THREAD */
};

/* Set before the programs are loaded. */
struct ls_snapshot_config {
  __u32 pid_namespace; /* as in ls_config */
  __u32 worker_flag;
};

LS_ASSERT(sizeof(struct ls_task_record) == 24);
LS_ASSERT(sizeof(struct ls_thread_head) == 72);
LS_ASSERT(sizeof(struct ls_bytes_head) == 32);
LS_ASSERT(sizeof(struct ls_mapping_head) == 72);
LS_ASSERT(sizeof(struct ls_request) == 24 + sizeof(struct ls_recipes));

#endif /* LABELSCOPE_BPF_SNAPSHOT_WIRE_H */
