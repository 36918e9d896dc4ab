/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the few kernel fields that labelscope's programs read. libbpf relocates them to the
 * running kernel's BTF when it loads a program, so one object serves Linux 5.10 and later. The
 * names are the kernel's. */
#ifndef LABELSCOPE_BPF_VMLINUX_MIN_H
#define LABELSCOPE_BPF_VMLINUX_MIN_H

#include <linux/bpf.h>
#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
  unsigned int inum;
};

struct pid_namespace {
  struct ns_common ns;
};

struct upid {
  int nr;
  struct pid_namespace* ns;
};

struct pid {
  unsigned int level;
  struct upid numbers[1];
};

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;
};

struct mm_struct {
  unsigned long saved_auxv[1];
};

struct sched_entity {
  unsigned long long sum_exec_runtime; /* nanoseconds on a processor, up to the last tick */
};

struct task_struct {
  unsigned int flags;
  unsigned int __state; /* since Linux 5.14 */
  int exit_state;
  int pid;
  int tgid;
  struct sched_entity se;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct signal_struct* signal;
  struct mm_struct* mm;
  unsigned int on_cpu; /* signed, and one byte since 7.x, but libbpf adapts only unsigned fields */
  unsigned long nvcsw; /* how often it left a processor, by itself and by force */
  unsigned long nivcsw;
  unsigned long long start_time;
  unsigned long long self_exec_id; /* 64 bits since Linux 5.7 */
  char comm[16];
};

struct super_block {
  unsigned int s_dev;
  unsigned long s_magic;
};

struct inode {
  unsigned long i_ino;
  struct super_block* i_sb;
};

struct path {
  void* dentry;
};

struct file {
  struct path f_path;
  struct inode* f_inode;
};

struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  unsigned long vm_flags;
  unsigned long vm_pgoff;
  struct file* vm_file;
};

/* These are contexts of iterators. */
struct seq_file;

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

struct bpf_iter__task_vma {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
  struct vm_area_struct* vma;
};

/* The programs only use pointers to it. The type is complete because libbpf compares the callback's
 * type with the kernel's. */
struct bpf_map {
  unsigned int max_entries;
};

#pragma clang attribute pop

/* The kernel looks for this type in a map value by name and size. So it must not be relocatable. */
struct bpf_task_work {
  __u64 __opaque;
} __attribute__((aligned(8)));

typedef int (*bpf_task_work_callback_t)(struct bpf_map* map, void* key, void* value);

#endif /* LABELSCOPE_BPF_VMLINUX_MIN_H */
