// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads the threads, memory and mappings of one process without stopping it. The programs are
// iterators over tasks: user space runs one by reading a file. The kernel checks no ptrace
// permission for them, but CAP_BPF and CAP_PERFMON. A sleepable program can read another task's
// memory from Linux 5.18 on; with an older kernel, user space does not load this object.
//
// The order of the includes matters: types, then helpers, then what uses both.
// clang-format off
#include "bpf/programs/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define LS_READ_TASK
#define LS_WITH_PRESETS
#include "labelscope/read_labels.bpf.h"
#include "bpf/wire/snapshot_wire.h"
#include "bpf/programs/task_ids.bpf.h"
#include "bpf/programs/user_registers.bpf.h"
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct ls_snapshot_config config = {};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_request);
  __uint(max_entries, 1);
} request SEC(".maps");

/* A record under construction. User space runs one iterator at a time. */
struct ls_snapshot_scratch {
  union {
    struct {
      struct ls_thread_head thread;
      struct ls_reading reading; /* begins with the labels: they follow the head */
    };
    struct {
      struct ls_bytes_head head;
      __u8 bytes[LS_MOST_BYTES];
    } memory;
    struct {
      struct ls_mapping_head head;
      __u8 path[LS_MOST_PATH + 8];
    } mapping;
    struct {
      struct ls_task_record record;
      __u8 bytes[LS_MOST_AUXV];
    } auxv;
  };
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_snapshot_scratch);
  __uint(max_entries, 1);
} scratch SEC(".maps");

/* Programs of presets, by their numbers in the request's recipes. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_preset_program);
  __uint(max_entries, LS_MAX_PUBLISHERS);
} presets SEC(".maps");

static __always_inline const struct ls_preset_program* ls_preset_at(__u32 preset) {
  return bpf_map_lookup_elem(&presets, &preset);
}

static __always_inline struct ls_snapshot_scratch* ls_scratch(void) {
  __u32 only = 0;
  return bpf_map_lookup_elem(&scratch, &only);
}

static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
  struct ls_snapshot_scratch* own = bpf_map_lookup_elem(&scratch, &index);
  return own ? &own->reading : 0;
}

/* Returns the request, if it is about this task's process, else null. (From Linux 6.1 on the
 * iterator visits no other tasks; before, it visits all.) */
static __always_inline struct ls_request* ls_request_about(struct task_struct* task) {
  __u32 only = 0;
  struct ls_request* asked = bpf_map_lookup_elem(&request, &only);
  if (!asked || asked->done || asked->pid == 0) return 0;
  return ls_ids_of(task, config.pid_namespace).pid == asked->pid ? asked : 0;
}

static __always_inline void ls_begin_record(struct ls_task_record* record, __u32 type,
                                            struct task_struct* task) {
  struct task_struct* first = task->group_leader;
  record->type = type;
  record->program.start_time = first->start_time;
  record->program.exec_id = first->self_exec_id;
}

/* `most` is the size of the memory that `record` points to. */
static __always_inline void ls_write(struct bpf_iter_meta* meta, struct ls_task_record* record,
                                     __u64 size, __u64 most) {
  ls_keep_together(size);
  if (size > most) return; /* for the verifier */
  record->size = size;
  bpf_seq_write(meta->seq, record, size);
}

/* A thread of io_uring runs no user code. Its thread pointer is that of its creator. */
static __always_inline _Bool ls_is_worker(struct task_struct* task) {
  return config.worker_flag && task->flags & config.worker_flag;
}

static __always_inline void ls_read_thread(struct task_struct* task, struct ls_reading* reading,
                                           __u64 thread_pointer) {
  if (ls_is_worker(task)) {
    ls_clear_labels(&reading->labels);
    reading->labels.head.flags = LS_NEVER_TOUCHED;
    reading->fault.size = 0;
  } else {
    ls_read_labels(task, 0, thread_pointer);
  }
}

/* The number is read before and after the labels. If both are equal and not ~0, the thread was on
 * no processor in between: then it reads as a thread that is stopped. (A kernel for one processor
 * has no `on_cpu`.) */
static __always_inline __u64 ls_times_switched(struct task_struct* task) {
  if (bpf_core_field_exists(task->on_cpu) && task->on_cpu) return ~0ULL;
  return task->nvcsw + task->nivcsw;
}

/* A process's first thread may have set its thread pointer itself (thread_pointer.bpf.h): the saved
 * value is right while the thread is on no processor. */
static __always_inline _Bool ls_pointer_lags(struct task_struct* task, _Bool ran) {
#ifdef LS_THREAD_POINTER_LAGS
  return ran && task == task->group_leader;
#else
  (void)task;
  (void)ran;
  return 0;
#endif
}

SEC("iter.s/task")
int read_threads(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct ls_request* asked = ls_request_about(task);
  struct ls_snapshot_scratch* own = ls_scratch();
  if (!asked || !own) return 0;

  ls_begin_record(&own->thread.record, LS_RECORD_THREAD, task);
  __u64 switched = ls_times_switched(task);
  own->thread.thread_pointer = ls_thread_pointer(task);
  own->thread.tid = ls_ids_of(task, config.pid_namespace).tid;
  own->thread.state = task->__state;
  own->thread.exit_state = task->exit_state;
  bpf_probe_read_kernel_str(own->thread.comm, sizeof(own->thread.comm), task->comm);
  own->reading.recipes = asked->recipes;
  /* For a thread that runs, this is an earlier value: then the chain from it does not lead back to
   * the thread, and its labels are unreadable. */
  own->reading.x28 = ls_saved_x28(task);
  ls_read_thread(task, &own->reading, own->thread.thread_pointer);
  own->thread.ran = switched == ~0ULL || ls_times_switched(task) != switched;
  own->thread.pointer_lags = ls_pointer_lags(task, own->thread.ran);
  /* This is read afterwards, because the thread may have begun to exit while it was read. */
  own->thread.no_memory = !task->mm;
  ls_write(ctx->meta, &own->thread.record,
           sizeof(own->thread) + sizeof(struct ls_label_head) + own->reading.labels.head.size,
           sizeof(own->thread) + sizeof(own->reading.labels));
  return 0;
}

SEC("iter.s/task")
int read_bytes(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct ls_request* asked = ls_request_about(task);
  struct ls_snapshot_scratch* own = ls_scratch();
  if (!asked || !own || !task->mm) return 0;
  __u64 size = asked->size;
  ls_keep_together(size);
  if (size > LS_MOST_BYTES) return 0;

  asked->done = 1;
  ls_begin_record(&own->memory.head.record, LS_RECORD_BYTES, task);
  own->memory.head.error =
      bpf_copy_from_user_task(own->memory.bytes, size, (const void*)asked->address, task, 0);
  if (own->memory.head.error) size = 0;
  ls_write(ctx->meta, &own->memory.head.record, sizeof(own->memory.head) + ((size + 7) & ~7ULL),
           sizeof(own->memory));
  return 0;
}

SEC("iter/task")
int read_auxv(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct ls_request* asked = ls_request_about(task);
  struct ls_snapshot_scratch* own = ls_scratch();
  if (!asked || !own || !task->mm) return 0;
  __u64 size = bpf_core_field_size(task->mm->saved_auxv);
  if (size > sizeof(own->auxv.bytes)) size = sizeof(own->auxv.bytes);

  asked->done = 1;
  ls_begin_record(&own->auxv.record, LS_RECORD_AUXV, task);
  if (bpf_probe_read_kernel(own->auxv.bytes, size, task->mm->saved_auxv)) return 0;
  ls_write(ctx->meta, &own->auxv.record, sizeof(own->auxv.record) + (size & ~7ULL),
           sizeof(own->auxv));
  return 0;
}

/* Writes a file's identity and name. Returns the length of the name with its zero, or 0. */
static __always_inline __u64 ls_describe_file(struct ls_snapshot_scratch* own, struct file* file) {
  struct inode* inode = file->f_inode;
  own->mapping.head.inode = inode->i_ino;
  own->mapping.head.device = inode->i_sb->s_dev;
  long length = bpf_d_path(&file->f_path, (char*)own->mapping.path, LS_MOST_PATH);
  return length > 0 && length <= LS_MOST_PATH ? length : 0;
}

SEC("iter/task_vma")
int list_mappings(struct bpf_iter__task_vma* ctx) {
  struct task_struct* task = ctx->task;
  struct vm_area_struct* mapping = ctx->vma;
  if (!task || !mapping) return 0;
  struct ls_request* asked = ls_request_about(task);
  struct ls_snapshot_scratch* own = ls_scratch();
  if (!asked || !own) return 0;
  struct ls_mapping_head* head = &own->mapping.head;
  __u64 length = 0;

  ls_begin_record(&head->record, LS_RECORD_MAPPING, task);
  head->start = mapping->vm_start;
  head->end = mapping->vm_end;
  head->page_offset = mapping->vm_pgoff;
  head->flags = mapping->vm_flags & 7;
  head->inode = 0;
  head->device = 0;
  head->reserved = 0;
  struct file* file = mapping->vm_file;
  if (file) length = ls_describe_file(own, file);
  if (length > 0) length--; /* the zero */
  ls_keep_together(length);
  if (length > LS_MOST_PATH) return 0; /* for the verifier */
  head->path_size = length;
  for (__u32 i = 0; i < 8; i++) own->mapping.path[length + i] = 0;
  ls_write(ctx->meta, &head->record, sizeof(*head) + ((length + 7) & ~7ULL), sizeof(own->mapping));
  return 0;
}
