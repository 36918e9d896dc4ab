/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This program writes the CPU time of all threads of the sampled processes, when user space reads
 * its iterator. To open 10,000 files of /proc takes fifty times as long. */
#ifndef LABELSCOPE_BPF_THREAD_TIMES_BPF_H
#define LABELSCOPE_BPF_THREAD_TIMES_BPF_H

#include "bpf/programs/lifecycle.bpf.h"

SEC("iter/task")
int thread_times(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct ls_ids ids = ls_ids_of(task, config.pid_namespace);
  if (!ls_find_process(ids.pid).process) return 0;
  /* The verifier lets nobody compute with a pointer that it knows. */
  __u64 address = 0;
  bpf_probe_read_kernel(&address, sizeof(address), &ctx->task);
  struct ls_thread_time time = {.thread_ns = ls_time_of(task),
                                .pid = ids.pid,
                                .tid = ids.tid,
                                .identity = ls_identity_of(address),
                                .is_worker = ls_is_worker(BPF_CORE_READ(task, flags))};
  bpf_seq_write(ctx->meta->seq, &time, sizeof(time));
  return 0;
}

#endif /* LABELSCOPE_BPF_THREAD_TIMES_BPF_H */
