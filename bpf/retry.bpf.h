/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repeated read. When a page was missing, the thread itself brings it in and reads again before
 * it runs its next instruction in user mode: task work of the resume kind, so that no system call
 * is interrupted. Its labels are still those of the sample. Kernels from 6.18 on; objects of their
 * own, since libbpf resolves the kernel functions of a whole object or refuses it. */
#ifndef LABELSCOPE_BPF_RETRY_BPF_H
#define LABELSCOPE_BPF_RETRY_BPF_H

#include "bpf/task.bpf.h"

#ifdef LS_RETRY_IMPLICIT_ARGUMENT
/* Since 7.x: the verifier adds the last argument. */
extern int bpf_task_work_schedule_resume(struct task_struct* task, struct bpf_task_work* work,
                                         void* map,
                                         bpf_task_work_callback_t callback) __ksym __weak;
#define ls_schedule_resume bpf_task_work_schedule_resume
#else
extern int bpf_task_work_schedule_resume_impl(struct task_struct* task, struct bpf_task_work* work,
                                              void* map__map, bpf_task_work_callback_t callback,
                                              void* aux__prog) __ksym __weak;
#define ls_schedule_resume(task, work, map, callback) \
  bpf_task_work_schedule_resume_impl(task, work, map, callback, 0)
#endif

struct ls_retry {
  struct bpf_task_work work;
  __u64 id;
  __u32 pid; /* as labelscope counts */
  __u32 image;
  __u32 unsent; /* the sample was dropped: there is nobody to send labels to */
  __u32 reserved;
};

/* By the kernel's own thread number; an entry lives until its callback has run. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_retry);
  __uint(max_entries, 1024);
} retries SEC(".maps");

/* Indices of the unused entries of `scratch`; user space fills it before the start. */
struct {
  __uint(type, BPF_MAP_TYPE_STACK);
  __type(value, __u32);
  __uint(max_entries, LS_RETRY_SCRATCHES);
} free_scratches SEC(".maps");

/* Each round brings in one page or two: the variable, the DTV, the set, the elements, and at worst
 * every string of every publisher has a page of its own. */
#define LS_RETRY_ROUNDS (LS_MAX_PUBLISHERS * (2 * LS_MAX_LABELS + 6))

static __always_inline _Bool ls_send_labels(struct ls_scratch* own) {
  __u64 size =
      sizeof(own->answer) + sizeof(own->reading.labels.head) + own->reading.labels.head.size;
  if (size > sizeof(own->answer) + sizeof(own->reading.labels)) return 0; /* for the verifier */
  own->answer.record.size = size;
  own->answer.record.type = LS_RECORD_LABELS;
  return bpf_ringbuf_output(&ring, &own->answer, size, BPF_RB_NO_WAKEUP) == 0;
}

/* Faults in what a read missed: no read is longer than a page, so it touches two pages at most. */
static __always_inline _Bool ls_touch(const struct ls_fault* fault) {
  __u8 byte;
  __u64 last = fault->address + fault->size - 1;
  return bpf_copy_from_user(&byte, 1, (const void*)fault->address) == 0 &&
         bpf_copy_from_user(&byte, 1, (const void*)last) == 0;
}

struct ls_retry_rounds {
  __u64 thread_pointer;
  __u32 index;
};

static long ls_read_and_touch(__u32 i, void* argument) {
  struct ls_retry_rounds* rounds = argument;
  struct ls_scratch* own = ls_scratch_at(rounds->index);
  (void)i;
  if (!own) return 1;
  ls_read_labels(rounds->index, rounds->thread_pointer);
  ls_reload();
  return own->reading.fault.size == 0 || !ls_touch(&own->reading.fault);
}

static __always_inline void ls_observe_again(__u32 index, struct ls_scratch* own,
                                             const struct ls_retry* retry) {
  struct ls_process* process = bpf_map_lookup_elem(&processes, &retry->pid);
  if (process) ls_copy_process(own, process, retry->pid);
  if (!process || own->image != retry->image) {
    ls_clear_labels(&own->reading.labels);
    own->reading.labels.head.outcome = LS_UNREADABLE_VANISHED;
    return;
  }
  struct ls_retry_rounds rounds = {ls_known_pointer(own, ls_current_thread().pointer), index};
  bpf_loop(LS_RETRY_ROUNDS, ls_read_and_touch, &rounds, 0);
  own->reading.labels.head.flags |= LS_RETRIED;
}

/* The outcome is counted as user space will see it: a result that cannot be sent leaves its sample
 * without an answer, which ends as vanished. How it went is returned in `end`, to be counted too.
 */
static __always_inline __u32 ls_answer(__u32 index, struct ls_scratch* own,
                                       const struct ls_retry* retry, __u32* end) {
  ls_observe_again(index, own, retry);
  own->answer.retry_id = retry->id;
  *end = LS_COUNT_RETRY_UNSENT;
  if (!retry->unsent) *end = ls_send_labels(own) ? LS_COUNT_RETRY_SENT : LS_COUNT_DROPPED_LABELS;
  if (*end == LS_COUNT_DROPPED_LABELS) return LS_UNREADABLE_VANISHED;
  if (own->reading.labels.head.flags & LS_TRUNCATED) ls_count_other(LS_COUNT_TRUNCATED);
  return own->reading.labels.head.outcome;
}

static int ls_repeat_read(struct bpf_map* map, void* key, void* value) {
  __u32 index = 0;
  __u32 outcome = LS_UNREADABLE_VANISHED;
  __u32 end = LS_COUNT_RETRY_NO_SCRATCH;

  (void)map;
  if (bpf_map_pop_elem(&free_scratches, &index) == 0) {
    struct ls_scratch* own = ls_scratch_at(index);
    if (own) outcome = ls_answer(index, own, value, &end);
    bpf_map_push_elem(&free_scratches, &index, BPF_ANY);
  }
  ls_count_other(outcome);
  ls_count_other(end);
  bpf_map_delete_elem(&retries, key);
  return 0;
}

/* Returns the entry of the scheduled read, or null with the reason counted. */
static __always_inline struct ls_retry* ls_schedule_retry(struct ls_scratch* own) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u32 key = (__u32)bpf_get_current_pid_tgid();
  struct ls_retry fresh = {.pid = own->sample.pid, .image = own->image};
  struct ls_retry* retry;

  if (task->flags & LS_TASK_EXITING) {
    ls_count_sampling(LS_COUNT_RETRY_EXITING);
    return 0;
  }
  if (bpf_map_lookup_elem(&retries, &key)) {
    ls_count_sampling(LS_COUNT_RETRY_BUSY);
    return 0;
  }
  fresh.id = ((__u64)(bpf_get_smp_processor_id() + 1) << 40) + ++own->retries;
  bpf_map_update_elem(&retries, &key, &fresh, BPF_NOEXIST);
  retry = bpf_map_lookup_elem(&retries, &key);
  if (!retry) {
    ls_count_sampling(LS_COUNT_RETRY_TABLE_FULL);
    return 0;
  }
  if (ls_schedule_resume(task, &retry->work, &retries, ls_repeat_read)) {
    bpf_map_delete_elem(&retries, &key);
    ls_count_sampling(LS_COUNT_RETRY_REFUSED);
    return 0;
  }
  ls_count_sampling(LS_COUNT_RETRY_SCHEDULED);
  return retry;
}

#endif /* LABELSCOPE_BPF_RETRY_BPF_H */
