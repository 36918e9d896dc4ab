/* The kernel's types as the programs read them, for C of the host and for C++. The kernel has each
 * field of a task in one place, whichever of the programs' types names it, so all of these are one
 * type here. It stands in for bpf/programs/vmlinux_min.h and vmlinux_waits.h. */
#pragma once

#include <linux/types.h>

#define LABELSCOPE_BPF_VMLINUX_MIN_H
#define LABELSCOPE_BPF_VMLINUX_WAITS_H

#ifdef __cplusplus
#define _Bool bool
extern "C" {
#endif

struct ns_common {
  unsigned inum;
};
struct pid_namespace {
  struct ns_common ns;
};
struct upid {
  int nr;
  struct pid_namespace* ns;
};
struct pid {
  unsigned level;
  struct upid numbers[2];
};

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;
};

struct cfs_rq {
  void* rq;
};
struct sched_entity {
  unsigned long long sum_exec_runtime;
  struct cfs_rq* cfs_rq;
};
struct sched_dl_entity {
  unsigned dl_throttled : 1;
};

/* What a thread was in when it came from user mode. */
struct fake_registers {
  unsigned long orig_ax;
  unsigned long cs;
  unsigned long r10;
  unsigned long dx;
  unsigned long si;
  unsigned long di;
};

struct task_struct {
  unsigned flags;
  int pid;
  int tgid;
  struct sched_entity se;
  struct sched_dl_entity dl;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct signal_struct* signal;
  void* robust_list;
  int softirq_disable_cnt;
  unsigned throttled;
  unsigned frozen;
  char comm[16];
  /* The kernel has these elsewhere. */
  struct fake_registers registers;
  unsigned long thread_pointer;
};

#define pt_regs___ls_call fake_registers
#define pt_regs___ls_futex fake_registers
#define task_struct___ls_limits task_struct
#define task_struct___ls_queue task_struct
#define task_struct___ls_soft task_struct
#define task_struct___ls_robust task_struct

/* Only kernels that have no task_struct::robust_list have this. */
struct futex_sched_data___ls {
  void* robust_list;
};
struct task_struct___ls_futex {
  struct futex_sched_data___ls futex;
};

struct super_block {
  unsigned long s_magic;
};
struct inode {
  struct super_block* i_sb;
};
struct file {
  struct inode* f_inode;
};
struct vm_area_struct {
  unsigned long vm_flags;
  struct file* vm_file;
};

struct bpf_map {
  unsigned max_entries;
};
struct bpf_task_work {
  __u64 opaque;
};
typedef int (*bpf_task_work_callback_t)(struct bpf_map* map, void* key, void* value);

#ifdef __cplusplus
}
#undef _Bool
#endif
