/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The few kernel fields that are read, relocated at load time against the running kernel's BTF: the
 * same object serves 5.10 and later. Field names are the kernel's. */
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

struct task_struct {
  unsigned int flags;
  int pid;
  int tgid;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct signal_struct* signal;
};

/* Only ever pointed to; complete because libbpf compares the callback's type with the kernel's. */
struct bpf_map {
  unsigned int max_entries;
};

#pragma clang attribute pop

/* Lies in a map value and is looked for there by name and size, so it must not be relocatable. */
struct bpf_task_work {
  __u64 __opaque;
} __attribute__((aligned(8)));

typedef int (*bpf_task_work_callback_t)(struct bpf_map* map, void* key, void* value);

#endif /* LABELSCOPE_BPF_VMLINUX_MIN_H */
