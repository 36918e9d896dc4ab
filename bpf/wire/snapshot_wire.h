/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the records that the iterators of task_snapshot.bpf.c write, and the requests of user
 * space. They are plain C of fixed width, without pointers, with explicit padding, and are used in
 * bpf/ only.
 *
 *   THREAD   ls_thread_head, ls_label_head, label blocks (labelscope/label_blocks.h)
 *   BYTES    ls_bytes_head, the requested bytes if there was no error
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
  __u64 start_time; /* that of the process's first thread */
  __u64 exec_id;    /* grows with each exec */
};

struct ls_task_record {
  __u32 size; /* size of the whole record, this member included */
  __u32 type; /* enum ls_task_record_type */
  struct ls_running_program program;
};

struct ls_thread_head {
  struct ls_task_record record;
  __u64 thread_pointer;
  __u32 tid;
  __u32 state;      /* the kernel's task->__state */
  __u32 exit_state; /* the kernel's task->exit_state */
  /* set if the thread has given up its address space: it has no labels any more */
  __u32 no_memory;
  __u8 comm[LS_THREAD_COMM_SIZE];
  /* This is set if the thread was on a processor while it was read. */
  __u32 ran;
  /* This is set if the saved thread pointer may be an old one for that reason. */
  __u32 pointer_lags;
};

struct ls_bytes_head {
  struct ls_task_record record;
  __s64 error; /* 0, or negative if there are no bytes */
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
  __u64 inode;       /* 0 if there is no file */
  __u32 device;      /* in the kernel's form: major << 20 | minor */
  __u32 flags;       /* enum ls_mapping_flag */
  __u32 path_size;   /* without the zeros behind it */
  __u32 reserved;
};

/* The only value of the map `request`. */
struct ls_request {
  __u64 address; /* BYTES */
  __u32 size;    /* BYTES: at most LS_MOST_BYTES */
  __u32 pid;
  __u32 done; /* set by the BPF program when one thread has answered for all */
  __u32 reserved;
  struct ls_recipes recipes; /* THREAD */
};

/* User space sets this before it loads the programs. */
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
