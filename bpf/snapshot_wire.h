/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the iterators of task_snapshot.bpf.c write, and what they are asked. Plain C, fixed width,
 * no pointers, explicit padding; never leaves bpf/.
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
/* The kernel collects 8 pages of records at most, and a record that is larger than that is an
 * error. */
#define LS_MOST_BYTES 16384
#define LS_MOST_PATH 4096
#define LS_MOST_AUXV 1024

/* Which program of which process was looked at: equal as long as it is the same one. */
struct ls_image {
  __u64 start_time; /* of its first thread */
  __u64 exec_id;    /* how often it has executed another program, from some number on */
};

struct ls_task_record {
  __u32 size; /* of the whole record, this included */
  __u32 type; /* enum ls_task_record_type */
  struct ls_image image;
};

struct ls_thread_head {
  struct ls_task_record record;
  __u64 thread_pointer;
  __u32 tid;
  __u32 state;      /* the kernel's task->__state */
  __u32 exit_state; /* and task->exit_state */
  __u32 no_memory;  /* it has given up its address space, so there were no labels to read */
  __u8 comm[LS_THREAD_COMM_SIZE];
  /* It was on a processor, and the saved thread pointer may be older than the one it has. */
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
  __u32 path_size;   /* without the filling */
  __u32 reserved;
};

/* Value of the map `request`, the only one. */
struct ls_request {
  __u64 address; /* BYTES */
  __u32 size;    /* BYTES: LS_MOST_BYTES at most */
  __u32 pid;
  __u32 done; /* the kernel side's: one thread has answered for all */
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
