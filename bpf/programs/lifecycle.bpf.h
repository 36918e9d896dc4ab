/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These programs report fork, exec and exit of the sampled processes, and the CPU time of each
 * thread that ends. They are raw tracepoints: the order of their arguments has been the same since
 * Linux 4.17. */
#ifndef LABELSCOPE_BPF_LIFECYCLE_BPF_H
#define LABELSCOPE_BPF_LIFECYCLE_BPF_H

#include "bpf/programs/stack.bpf.h"
#include "bpf/programs/task.bpf.h"

static __always_inline void ls_send_event(struct ls_process_event* event, __u32 type,
                                          __u32 dropped) {
  event->record.size = sizeof(*event);
  event->record.type = type;
  /* These events are rare, and user space has to plan again soon, so each of them wakes it up. */
  if (bpf_ringbuf_output(&ring, event, sizeof(*event), BPF_RB_FORCE_WAKEUP))
    ls_count_other(dropped);
}

static __always_inline __u64 ls_time_of(struct task_struct* task) {
  return BPF_CORE_READ(task, se.sum_exec_runtime);
}

static __always_inline void ls_send_thread_end(const struct ls_ending* ending) {
  struct ls_thread_end end = {
      .record = {.size = sizeof(end), .type = LS_RECORD_THREAD_END},
      .thread_ns = ending->thread_ns,
      .pid = ending->pid,
      .tid = ending->tid,
      .time_ns = ending->time_ns,
      .identity = ending->identity,
      .life = ending->life,
  };
  if (!bpf_ringbuf_output(&ring, &end, sizeof(end), BPF_RB_NO_WAKEUP)) return;
  struct ls_end_key key = {.time_ns = ending->time_ns, .pid = ending->pid, .tid = ending->tid};
  if (bpf_map_update_elem(&unsent_ends, &key, ending, BPF_ANY))
    ls_add_other(LS_COUNT_LOST_THREAD_NS, ending->thread_ns);
}

/* A child has a copy of its parent's address space, so the parent's recipes are right for it. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (struct task_struct*)ctx->args[0];
  struct task_struct* child = (struct task_struct*)ctx->args[1];

  if (!config.follow_children) return 0;
  if (BPF_CORE_READ(parent, tgid) == BPF_CORE_READ(child, tgid)) return 0; /* a new thread */
  __u32 parent_pid = ls_ids_of(parent, config.pid_namespace).pid;
  struct ls_found_process found = ls_find_process(parent_pid);
  if (!found.process) return 0;
  __u32 child_pid = ls_ids_of(child, config.pid_namespace).pid;
  const __u64 now = bpf_ktime_get_ns();
  const __u32 parent_life = *found.life;
  __u32 child_life = ls_life_at(now);
  /* The value is copied straight from one entry to the other, because it is too large for the
   * stack. */
  struct ls_process* copy = 0;
  ls_note_recorded(child_pid); /* before it is */
  if (child_pid != 0 &&
      !bpf_map_update_elem(&lives, &child_pid, &child_life, BPF_ANY) &&
      !bpf_map_update_elem(&processes, &child_pid, found.process, BPF_ANY))
    copy = bpf_map_lookup_elem(&processes, &child_pid);
  if (!copy) {
    bpf_map_delete_elem(&lives, &child_pid);
    ls_count_other(LS_COUNT_CHILD_NOT_FOLLOWED);
    return 0;
  }
  /* The child does not run yet, so no sample uses the entry before this is set. If the parent has
   * executed another program, or its entry was reused for another process while it was copied,
   * these are not the child's recipes, and have a life that no process has. */
  copy->life = copy->life == parent_life && ls_is_entry_of(copy, parent_pid) ? child_life : 0;
  copy->born = child_life;
  copy->parent = parent_pid;
  copy->pid = copy->pid_again = child_pid;
  copy->first_pointer_known = 1; /* fork() has saved the register's value for the child */
  ls_stack_on_fork(parent_pid, parent_life, child_pid, child_life);
  struct ls_process_event event = {.time_ns = now,
                                   .pid = child_pid,
                                   .parent = parent_pid,
                                   .life = child_life,
                                   .from_life = parent_life};
  ls_send_event(&event, LS_RECORD_FORK, LS_COUNT_DROPPED_FORK);
  return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args* ctx) {
  /* The tid cannot be used: it has just changed if another thread than the first called exec. */
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  __u32 pid = ls_ids_of(task, config.pid_namespace).pid;
  __u32* life = ls_find_process(pid).life;
  if (!life) return 0;
  const __u64 now = bpf_ktime_get_ns();
  *life = ls_life_at(now);
  struct ls_process_event event = {.time_ns = now,
                                   .pid = pid,
                                   .life = *life,
                                   .thread_ns = ls_time_of(task),
                                   .identity = ls_identity_of((__u64)task)};
  /* The kernel gives the former number as the initial pid namespace counts. */
  if (config.pid_namespace == 0) event.former = ctx->args[1];
  bpf_get_current_comm(event.comm, sizeof(event.comm));
  ls_send_event(&event, LS_RECORD_EXEC, LS_COUNT_DROPPED_EXEC);
  return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  struct ls_ids ids = ls_ids_of(task, config.pid_namespace);
  const __u32* life = ls_find_process(ids.pid).life;
  __u64 process = (__u64)BPF_CORE_READ(task, signal);
  struct ls_ended last = {.pid = ids.pid};
  if (!life) {
    const struct ls_ended* ended = bpf_map_lookup_elem(&ended_processes, &process);
    if (!ended || ended->pid != ids.pid) return 0;
    last = *ended;
  } else {
    last.life = *life;
  }
  __u64 key = (__u64)task;
  struct ls_ending ending = {.thread_ns = ls_time_of(task),
                             .pid = ids.pid,
                             .tid = ids.tid,
                             .time_ns = bpf_ktime_get_ns(),
                             .identity = ls_identity_of(key),
                             .life = last.life};
  /* If the map is full, only the CPU time of the thread's last moments is lost. */
  if (bpf_map_update_elem(&endings, &key, &ending, BPF_ANY)) ls_send_thread_end(&ending);
  if (!life || BPF_CORE_READ(task, signal, live.counter) != 0) return 0; /* others go on */
  bpf_map_update_elem(&ended_processes, &process, &last, BPF_ANY);
  struct ls_process_event event = {
      .time_ns = ending.time_ns, .pid = ids.pid, .life = last.life};
  BPF_CORE_READ_STR_INTO(&event.comm, task, group_leader, comm);
  ls_send_event(&event, LS_RECORD_EXIT, LS_COUNT_DROPPED_EXIT);
  bpf_map_delete_elem(&processes, &ids.pid);
  ls_stack_on_exit(ids.pid);
  bpf_map_delete_elem(&lives, &ids.pid);
  return 0;
}

/* Returns the current thread as on_exit() has seen it, if it has; on_free() will report it. */
static __always_inline const struct ls_ending* ls_current_ending(void) {
  if (!(ls_current_thread().flags & LS_TASK_EXITING)) return 0;
  __u64 key = bpf_get_current_task();
  return bpf_map_lookup_elem(&endings, &key);
}

/* A thread that exits still runs in the kernel for a while. The kernel adds the time since its last
 * scheduler tick only when it switches the thread out for good. So the account is complete here,
 * and not in on_exit(): there, a thread that lived for less than a tick would have no CPU time at
 * all. */
SEC("raw_tp/sched_process_free")
int on_free(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  __u64 key = (__u64)task;
  struct ls_ending* ending = bpf_map_lookup_elem(&endings, &key);
  if (!ending) return 0;
  ending->thread_ns = ls_time_of(task);
  ls_send_thread_end(ending);
  bpf_map_delete_elem(&endings, &key);
  return 0;
}

#endif /* LABELSCOPE_BPF_LIFECYCLE_BPF_H */
