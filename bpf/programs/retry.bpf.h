/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the repeated read. The sampler runs in an interrupt and cannot bring in a page that is
 * not in memory. So it asks the kernel to let the sampled thread itself read again, on its way back
 * to user mode. The thread has run no instruction of its own in between, so its labels are still
 * those of the sample:
 *
 *   user mode ..|                                            |.. next instruction in user mode
 *               | perf event: sample()                       |
 *               |   a read fails: ls_schedule_retry()        |
 *               |   SAMPLE record with a retry_id -----------|--> user space keeps it, incomplete
 *               | on the way back: ls_repeat_read()          |
 *               |   read, bring a page in, read again, ...   |
 *               |   LABELS record with this retry_id --------|--> user space completes the sample
 *
 * The task work is of the "resume" kind, which interrupts no system call. It needs Linux 6.18, and
 * libbpf refuses an object if the kernel lacks a function that the object names. So the sampler is
 * compiled without it, with it, and with the argument that Linux 7.x adds (bpf/CMakeLists.txt). */
#ifndef LABELSCOPE_BPF_RETRY_BPF_H
#define LABELSCOPE_BPF_RETRY_BPF_H

#include "bpf/programs/task.bpf.h"

#ifdef LS_RETRY_IMPLICIT_ARGUMENT
/* Since 7.x the verifier adds the last argument. */
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
  __u32 life;
  __u32 unsent; /* the sample was dropped, so its labels are not needed */
  __u32 reserved;
  __u64 x28; /* as in the sample's reading */
};

/* The key is the thread's number in the initial pid namespace. An entry lives until its callback
 * has run. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_retry);
  __uint(max_entries, 1024);
} retries SEC(".maps");

/* This queue has the indices of unused entries of `scratch`. User space fills it before the start.
 */
struct {
  __uint(type, BPF_MAP_TYPE_STACK);
  __type(value, __u32);
  __uint(max_entries, LS_RETRY_SCRATCHES);
} free_scratches SEC(".maps");

/* Each round brings in one page or two. At worst the variable, the DTV, the set, the elements,
 * every single string and each bucket of a Go map are in pages of their own, for every publisher.
 */
#define LS_RETRY_ROUNDS (LS_MAX_PUBLISHERS * (2 * LS_MAX_LABELS + LS_GO_BUCKETS + 8))

/* Sends a head, and the labels that lie right behind it. */
static __always_inline _Bool ls_send_labels_behind(struct ls_scratch* own,
                                                   struct ls_record_head* head, __u64 head_size,
                                                   __u32 type) {
  __u64 size = head_size + sizeof(own->reading.labels.head) + own->reading.labels.head.size;
  if (size > head_size + sizeof(own->reading.labels)) return 0; /* for the verifier */
  head->size = size;
  head->type = type;
  return bpf_ringbuf_output(&ring, head, size, BPF_RB_NO_WAKEUP) == 0;
}

static __always_inline _Bool ls_send_labels(struct ls_scratch* own) {
  return ls_send_labels_behind(own, &own->answer.record, sizeof(own->answer), LS_RECORD_LABELS);
}

/* These are the kernel's VM_UFFD_MISSING and VM_UFFD_MINOR. */
#define LS_BY_USERFAULTFD ((1UL << 9) | (1UL << 41))
/* This is the kernel's FUSE_SUPER_MAGIC. */
#define LS_FUSE 0x65735546

static long ls_ask_for_supplier(struct task_struct* task, struct vm_area_struct* mapping,
                                void* argument) {
  __u32* is_program = argument;
  struct file* file = mapping->vm_file;

  (void)task;
  *is_program = (mapping->vm_flags & LS_BY_USERFAULTFD) != 0;
  if (file && file->f_inode->i_sb->s_magic == LS_FUSE) *is_program = 1;
  return 0;
}

/* Whether some program supplies the pages of this mapping. It may never do so, and then the thread
 * would wait for a page that it has not asked for itself. What the kernel does not say is no. */
static __always_inline _Bool ls_is_by_program(__u64 address) {
  __u32 is_program = 0;
  bpf_find_vma(bpf_get_current_task_btf(), address, ls_ask_for_supplier, &is_program, 0);
  return is_program;
}

/* Brings in the memory of a failed read. No read is longer than a page, so it lies in two pages at
 * most: those of its first and its last byte. */
static __always_inline _Bool ls_touch(const struct ls_fault* fault) {
  __u8 byte;
  __u64 last = fault->address + fault->size - 1;
  if (ls_is_by_program(fault->address) || ls_is_by_program(last)) return 0;
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
  struct ls_found_process found = ls_find_process(retry->pid);
  if (found.process) ls_copy_process(own, &found);
  if (!found.process || own->life != retry->life) {
    ls_clear_labels(&own->reading.labels);
    own->reading.labels.head.outcome = LS_UNREADABLE_VANISHED;
    return;
  }
  own->reading.x28 = retry->x28;
  struct ls_retry_rounds rounds = {
      ls_known_pointer(own->first_pointer_known, ls_current_thread().pointer), index};
  bpf_loop(LS_RETRY_ROUNDS, ls_read_and_touch, &rounds, 0);
  own->reading.labels.head.flags |= LS_RETRIED;
}

/* Returns the outcome as user space will see it: if the answer cannot be sent, user space takes the
 * sample for vanished. `end` is the counter for how the retry ended. */
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

/* The answer of a read for which there is no scratch. Without any, user space would keep the sample
 * until its process ends, and the thread's time would stand still meanwhile. Returns the counter
 * for how the retry ended. */
static __always_inline __u32 ls_answer_without_scratch(const struct ls_retry* retry) {
  struct {
    struct ls_labels_head answer;
    struct ls_label_head labels;
  } record = {
      .answer = {.record = {.size = sizeof(record), .type = LS_RECORD_LABELS},
                 .retry_id = retry->id},
      .labels = {.outcome = LS_UNREADABLE_VANISHED},
  };
  ls_count_other(LS_COUNT_RETRY_NO_SCRATCH);
  if (retry->unsent) return LS_COUNT_RETRY_UNSENT;
  return bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_NO_WAKEUP)
             ? LS_COUNT_DROPPED_LABELS
             : LS_COUNT_RETRY_SENT;
}

static int ls_repeat_read(struct bpf_map* map, void* key, void* value) {
  __u32 index = 0;
  __u32 outcome = LS_UNREADABLE_VANISHED;
  __u32 end = LS_COUNT_RETRY_UNSENT;

  (void)map;
  if (bpf_map_pop_elem(&free_scratches, &index) == 0) {
    struct ls_scratch* own = ls_scratch_at(index);
    if (own) outcome = ls_answer(index, own, value, &end);
    bpf_map_push_elem(&free_scratches, &index, BPF_ANY);
  } else {
    end = ls_answer_without_scratch(value);
  }
  ls_count_other(outcome);
  ls_count_other(end);
  bpf_map_delete_elem(&retries, key);
  return 0;
}

/* This is the kernel's -EEXIST. */
#define LS_IS_THERE (-17)

/* Returns the number of the scheduled read; 0: there is none, and the reason is counted. Another
 * sample of this thread may come at any moment in between. It finds the entry and leaves it alone.
 */
static __always_inline __u64 ls_schedule_retry(struct ls_slot slot, struct ls_scratch* own) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u32 key = (__u32)bpf_get_current_pid_tgid();
  struct ls_retry fresh = {
      .pid = own->sample.pid, .life = own->life, .x28 = own->reading.x28};
  struct ls_retry* retry = 0;

  if (task->flags & LS_TASK_EXITING) {
    ls_count(slot, LS_COUNT_RETRY_EXITING);
    return 0;
  }
  fresh.id = ((__u64)(slot.index + 1) << 40) + ++own->retries;
  long refused = bpf_map_update_elem(&retries, &key, &fresh, BPF_NOEXIST);
  if (refused == LS_IS_THERE) {
    ls_count(slot, LS_COUNT_RETRY_BUSY);
    return 0;
  }
  if (!refused) retry = bpf_map_lookup_elem(&retries, &key);
  if (!retry) {
    ls_count(slot, LS_COUNT_RETRY_TABLE_FULL);
    return 0;
  }
  if (ls_schedule_resume(task, &retry->work, &retries, ls_repeat_read)) {
    bpf_map_delete_elem(&retries, &key);
    ls_count(slot, LS_COUNT_RETRY_REFUSED);
    return 0;
  }
  ls_count(slot, LS_COUNT_RETRY_SCHEDULED);
  return fresh.id;
}

/* The sample of this read was dropped, so its labels go nowhere. */
static __always_inline void ls_note_unsent(const struct ls_scratch* own) {
  __u32 key = (__u32)bpf_get_current_pid_tgid();
  struct ls_retry* retry = bpf_map_lookup_elem(&retries, &key);
  if (retry && retry->id == own->sample.retry_id) retry->unsent = 1;
}

#endif /* LABELSCOPE_BPF_RETRY_BPF_H */
