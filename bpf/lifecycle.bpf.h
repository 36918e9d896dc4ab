/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fork, exec and exit of the processes that are sampled. Raw tracepoints, whose arguments have kept
 * their order since 4.17. */
#ifndef LABELSCOPE_BPF_LIFECYCLE_BPF_H
#define LABELSCOPE_BPF_LIFECYCLE_BPF_H

#include "bpf/task.bpf.h"

static __always_inline void ls_send_event(__u32 type, __u32 dropped, __u32 pid, __u32 parent,
                                          __u32 image) {
  struct ls_process_event event = {
      .record = {.size = sizeof(event), .type = type},
      .time_ns = bpf_ktime_get_ns(),
      .pid = pid,
      .parent = parent,
      .image = image,
  };
  /* These are rare, and somebody has to plan anew: worth a wake-up each. */
  if (bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
    ls_count_other(dropped);
}

/* A child has its parent's address space, so the parent's recipes are right for it. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (struct task_struct*)ctx->args[0];
  struct task_struct* child = (struct task_struct*)ctx->args[1];
  struct ls_process copy = {};
  struct ls_process* process;
  __u32* image;

  if (!config.follow_children) return 0;
  if (BPF_CORE_READ(parent, tgid) == BPF_CORE_READ(child, tgid)) return 0; /* a new thread */
  __u32 parent_pid = ls_ids_of(parent, config.pid_namespace).pid;
  process = bpf_map_lookup_elem(&processes, &parent_pid);
  image = bpf_map_lookup_elem(&images, &parent_pid);
  if (!process || !image) return 0;
  __u32 child_pid = ls_ids_of(child, config.pid_namespace).pid;
  __u32 child_image = *image;
  __builtin_memcpy(&copy, process, sizeof(copy));
  copy.parent = parent_pid;
  copy.first_pointer_known = 1; /* the kernel has read it from the register for the child */
  if (child_pid == 0 || bpf_map_update_elem(&images, &child_pid, &child_image, BPF_ANY) ||
      bpf_map_update_elem(&processes, &child_pid, &copy, BPF_ANY)) {
    bpf_map_delete_elem(&images, &child_pid);
    ls_count_other(LS_COUNT_CHILD_NOT_FOLLOWED);
    return 0;
  }
  ls_send_event(LS_RECORD_FORK, LS_COUNT_DROPPED_FORK, child_pid, parent_pid, child_image);
  return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args* ctx) {
  /* Not the tid: it has just changed if another thread than the first called exec. */
  __u32 pid = ls_ids_of((struct task_struct*)ctx->args[0], config.pid_namespace).pid;
  __u32* image = bpf_map_lookup_elem(&images, &pid);
  if (!image) return 0;
  ++*image;
  ls_send_event(LS_RECORD_EXEC, LS_COUNT_DROPPED_EXEC, pid, 0, *image);
  return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  __u32* image;
  if (BPF_CORE_READ(task, signal, live.counter) != 0) return 0; /* other threads go on */
  __u32 pid = ls_ids_of(task, config.pid_namespace).pid;
  image = bpf_map_lookup_elem(&images, &pid);
  if (!image) return 0;
  ls_send_event(LS_RECORD_EXIT, LS_COUNT_DROPPED_EXIT, pid, 0, *image);
  bpf_map_delete_elem(&processes, &pid);
  bpf_map_delete_elem(&images, &pid);
  return 0;
}

#endif /* LABELSCOPE_BPF_LIFECYCLE_BPF_H */
