/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This measures and samples the time that threads do not run: while they wait, and while they wait
 * for a processor. The kernel's scheduler says when:
 *
 *   the thread  ...runs |------ waits ------|--- runnable ---| runs in the kernel | runs...
 *                       |                   |                |                    |
 *               sched_switch          sched_wakeup     sched_switch        back to user mode
 *                 left_ns               woken_ns       both lengths,       labels, stack, record
 *                 labels                               totals; drawn or
 *                                                      not
 *
 * Totals are exact. When a thread leaves its processor, it is still the current one, so its labels
 * are read then, and get a number (label_number.bpf.h). When it returns, the lengths are added to
 * the total of this number, kind and system call. If a page with labels is missing, they are read
 * on the way back to user mode instead: the thread has run no instruction of its own since.
 *
 * Each thread also has an account of its own (ls_wait_account), whatever its labels are: with its
 * CPU time, it is the time for which the thread exists. A thread that ends sends it when it leaves
 * its last processor, when its account is whole.
 *
 * The kernel may switch without telling any program, while it runs a thread that it hides from
 * tracing. So a thread may leave a processor that it was not seen to get, or get one while it was
 * not seen to have left the last one. Then its CPU time says how long it was away.
 *
 * Stacks are sampled. Each length is drawn by chance (ls_draw()). If it is, the thread itself takes
 * the sample, as task work on its way back to user mode (retry.bpf.h has the same way), where
 * missing pages may come in. User space fits the weights of samples to the totals. */
#ifndef LABELSCOPE_BPF_OFF_CPU_BPF_H
#define LABELSCOPE_BPF_OFF_CPU_BPF_H

#include "bpf/programs/blame.bpf.h"

/* A switch is never interrupted by another one of its thread. What a thread does as its work is:
 * its waits come wherever that is, and some of them take what they find (ls_return()). So whoever
 * takes a sum that waits add to takes it by one instruction (ls_take()). With two instructions,
 * both would take the same time. */

/* These are bits of the kernel's task->__state. */
#define LS_STATE_UNINTERRUPTIBLE 0x02
#define LS_STATE_STOPPED (0x04 | 0x08) /* by a signal, or by a tracer */
#define LS_STATE_DEAD 0x80
#define LS_STATE_FROZEN 0x8000

/* The weight of a short wait that is drawn, in nanoseconds. User space raises it if there are more
 * samples than it has budgeted for (waiting_threads.h). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, 1);
} off_cpu_unit SEC(".maps");

/* Returns the weight of a wait: its length if that is `unit` or more. A shorter one weighs `unit`
 * with the probability length / unit, and otherwise nothing. So the weights of many short waits add
 * up to their time, a long one is never missed, and no thread has more than two samples for each
 * `unit` of its time (N. Duffield, C. Lund, M. Thorup: "Learn more, sample less", 2005).
 * `chance` is a random number of 32 bits. */
static __always_inline __u64 ls_draw(__u64 length, __u64 unit, __u32 chance) {
  if (length >= unit) return length;
  return (chance * unit) >> 32 < length ? unit : 0;
}

/* Gives up all that was drawn, and counts why, if there is any. It must not stay: the thread may
 * change its labels before the next sample, which would then have the weight of this wait. */
static __always_inline void ls_lose_drawn(struct ls_off_cpu* thread, __u32 counter) {
  __u64 lost = 0;
#pragma unroll
  for (int part = 0; part < LS_WAIT_PARTS; part++) {
    if (thread->drawn_ns[part]) lost |= ls_take(&thread->drawn_ns[part]);
  }
  if (lost) ls_count_other(counter);
}

/* Adds the late waits of a part, whose labels have a number now. */
static __always_inline void ls_add_late_part(const struct ls_off_cpu* thread,
                                             struct ls_late_waits* late, __u32 part, __u64 labels,
                                             __u64 window) {
  /* A wait of this very thread may come at any point here. It adds its length before it counts.
   * The next wait after the count is 0 has a reason of its own. */
  if (*(volatile __u64*)&late->count[part] == 0) return;
  __s32 call = *(volatile __s32*)&late->system_call[part];
  __u64 count = ls_take(&late->count[part]);
  __u64 ns = ls_take(&late->ns[part]);
  if (count == 0) return;
  struct ls_wait_key key = {.labels = labels,
                            .pid = thread->pid,
                            .life = thread->life,
                            .system_call = call,
                            .part = part,
                            .generation = ls_generation_of(window)};
  ls_add_waits(&key, ns, count, ns / count);
}

/* Adds the waits that have come while the labels were missing, now that they have a number. Those
 * of a window that has ended are user space's: it may have taken them already, and learns from here
 * what they were if it has not. (A thread that loses its processor for kQuiet behind ls_window(),
 * with a cut in that time, adds what user space has taken, too. This is as rare as it is little
 * time.) */
__noinline int ls_add_late(__u32 tid, __u64 labels, __u64 blame_labels) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  const __u64 window = ls_window();
  if (thread->divided.labels == LS_LABELS_LATER) thread->divided.labels = labels;
#pragma unroll
  for (__u32 slot = 0; slot < LS_WINDOW_SLOTS; slot++) {
    struct ls_late_waits* late = &thread->late[slot];
    if (late->cut_ns != ls_cut_of(window)) {
      if (late->labels == 0) late->labels = labels;
      continue;
    }
#pragma unroll
    for (__u32 part = 0; part < LS_WAIT_PARTS; part++)
      ls_add_late_part(thread, late, part, labels, window);
  }
  if (config.blame) ls_blame_late(thread, blame_labels);
  return 0;
}

/* Returns where waits are added up whose labels are missing. Only a thread that leaves its
 * processor, or comes back to it, calls this. */
static __always_inline struct ls_late_waits* ls_late_in(struct ls_off_cpu* thread, __u64 window) {
  struct ls_late_waits* late = &thread->late[ls_slot_in(window)];
  if (late->cut_ns == ls_cut_of(window)) return late;
  /* User space has had what is there. */
#pragma unroll
  for (__u32 part = 0; part < LS_WAIT_PARTS; part++) late->ns[part] = late->count[part] = 0;
  late->labels = 0;
  late->life = thread->life;
  late->cut_ns = ls_cut_of(window);
  return late;
}

/* Sets what the labels are of a wait. */
static __always_inline void ls_set_labels(struct ls_off_cpu* thread, struct ls_numbers numbers) {
  thread->labels = numbers.labels;
  thread->blame_labels = numbers.blame;
}

/* There may be no room for totals: threads that never have the labels of before make them faster
 * than user space takes them out. A thread whose labels stay is not to lose its time by that. So
 * each thread holds waits of one label set and reason until there is room:
 *
 *   wait --> total, if there is room --> then what is held, too
 *             \-- no --> held, in place of what other labels have there */

/* Adds what is held of one part. */
static __always_inline void ls_add_held_part(struct ls_off_cpu* thread, __u32 part, _Bool lose) {
  struct ls_held_waits* held = &thread->held;
  struct ls_wait_key key = {.labels = held->labels,
                            .pid = thread->pid,
                            .life = thread->life,
                            .system_call = held->system_call,
                            .part = part,
                            .generation = ls_generation_of(ls_window())};
  if (held->count[part] == 0) return;
  __u64 count = ls_take(&held->count[part]);
  __u64 ns = ls_take(&held->ns[part]);
  if (count == 0 || ls_try_waits(&key, ns, count, ns / count)) return;
  if (lose) {
    ls_lose_waits(part, ns, count);
  } else {
    held->ns[part] += ns;
    held->count[part] += count;
  }
}

/* Adds what a thread holds. With `lose`, what finds no room is lost, and nothing is held then. */
__noinline int ls_add_held(__u32 tid, __u32 lose) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread || thread->held.labels == 0) return 0;
#pragma unroll
  for (__u32 part = 0; part < LS_WAIT_PARTS; part++) ls_add_held_part(thread, part, lose);
  if ((thread->held.count[0] | thread->held.count[1] | thread->held.count[2]) == 0)
    thread->held.labels = 0;
  return 0;
}

/* Holds one part of a wait. */
__noinline int ls_hold_wait(__u32 tid, __u32 part, __u64 ns) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  struct ls_held_waits* held = &thread->held;
  if (held->labels != thread->labels || held->system_call != thread->system_call) {
    ls_add_held(tid, 1);
    held->labels = thread->labels;
    held->system_call = thread->system_call;
  }
  /* The verifier forgets what is known of `part`. */
#pragma unroll
  for (__u32 each = 0; each < LS_WAIT_PARTS; each++) {
    if (each != part) continue;
    held->ns[each] += ns;
    held->count[each]++;
  }
  return 0;
}

/* A part of a wait that has ended. */
struct ls_ended_part {
  __u64 length;
  __u64 ns; /* so much of it is in this window */
};

/* The part that lasted from one moment until another. */
static __always_inline struct ls_ended_part ls_part_of(__u64 from, __u64 until, __u64 cut) {
  struct ls_ended_part part = {};
  if (until <= from) return part;
  part.length = until - from;
  if (until > cut) part.ns = until - ls_later(from, cut);
  return part;
}

/* Adds one part of a wait that has ended, and returns its weight as a sample. */
static __always_inline __u64 ls_add_part(struct ls_off_cpu* thread, __u32 part,
                                         struct ls_ended_part ended, __u64 window, __u64 unit,
                                         __u32 chance) {
  const __u64 ns = ended.ns;
  if (ended.length == 0 || part >= LS_WAIT_PARTS) return 0;
  thread->account.in[ls_slot_in(window)].ns[part] += ns;
  if (thread->labels == LS_LABELS_LATER) {
    struct ls_late_waits* late = ls_late_in(thread, window);
    late->system_call[part] = ls_reason_in_part(thread, part, window);
    __sync_fetch_and_add(&late->ns[part], ns);
    __sync_fetch_and_add(&late->count[part], 1);
  } else {
    struct ls_wait_key key = {.labels = thread->labels,
                              .pid = thread->pid,
                              .life = thread->life,
                              .system_call = thread->system_call,
                              .part = part,
                              .generation = ls_generation_of(window)};
    if (!ls_try_waits(&key, ns, 1, ended.length))
      ls_hold_wait(thread->tid, part, ns);
    else if (thread->held.labels != 0)
      ls_add_held(thread->tid, 0);
  }
  __u64 drawn = ls_draw(ns, unit, chance);
  thread->drawn_ns[part] += drawn;
  return drawn;
}

/* Adds a wait that was not seen whole. It takes no sample of it, and blames nobody. */
static __always_inline void ls_add_unseen(struct ls_off_cpu* thread, __u32 part,
                                          struct ls_ended_part ended, __u64 window) {
  struct ls_wait_key key = {.labels = thread->labels,
                            .pid = thread->pid,
                            .life = thread->life,
                            .system_call = thread->system_call,
                            .part = part,
                            .generation = ls_generation_of(window)};
  if (ended.length == 0 || part >= LS_WAIT_PARTS) return;
  if (key.labels == LS_LABELS_LATER) key.labels = LS_UNREADABLE_NOT_RESIDENT;
  thread->account.in[ls_slot_in(window)].ns[part] += ended.ns;
  ls_add_waits(&key, ended.ns, 1, ended.length);
}

/* What follows is rare, and each is a function that the verifier looks at by itself: it has enough
 * to do with on_switch(). */

/* The entry of a thread of which nothing is known, which would be too large for the stack. Nothing
 * writes here. It is made of numbers, because the kernel looks for its own types in variables. */
static __u64 ls_no_thread[sizeof(struct ls_off_cpu) / 8];

/* A thread becomes known `now`, and whatever else had its number is forgotten. */
__noinline int ls_add_thread(__u32 tid, __u32 pid, __u32 life, __u64 ran_ns, __u64 now) {
  struct ls_off_cpu* thread = 0;
  if (!bpf_map_update_elem(&off_cpu_threads, &tid, &ls_no_thread, BPF_ANY))
    thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  ls_forget_woken(tid);
  if (!thread) {
    ls_count_other(LS_COUNT_WAITS_WITHOUT_ROOM);
    return 0;
  }
  thread->pid = pid;
  thread->tid = tid;
  thread->life = life;
  thread->account.begun_ns = now;
  thread->account.begun_ran_ns = ran_ns;
  return 0;
}

/* A thread comes back from a wait that was open at the cut at which the window has begun. It leaves
 * what user space has to know of that before it gives up `left_ns`. */
__noinline int ls_divide(__u32 tid, __u64 window) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  struct ls_divided_wait* divided = &thread->divided;
  divided->left_ns = thread->left_ns;
  divided->woken_ns = thread->woken_ns;
  divided->left_ran_ns = thread->left_ran_ns;
  divided->labels = thread->labels;
  divided->life = thread->life;
  divided->system_call = thread->system_call;
  divided->part = thread->part;
  /* What is behind this instruction is not seen before it. */
  __sync_lock_test_and_set(&divided->cut_ns, ls_cut_of(window));
  return 0;
}

/* A thread leaves its processor `now`, and was not seen to get it. Its CPU time says when. */
__noinline int ls_return_unseen(__u32 tid, __u64 ran_ns, __u64 now) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  __u64 left = thread->left_ns;
  __u64 ran = ran_ns > thread->left_ran_ns ? ran_ns - thread->left_ran_ns : 0;
  __u64 back = ran < now - left ? now - ran : left;
  __u64 woken = thread->woken_ns >= left && thread->woken_ns < back ? thread->woken_ns : back;
  const __u64 window = ls_window();
  const __u64 cut = ls_cut_of(window);
  ls_count_other(LS_COUNT_SWITCHES_NOT_SEEN);
  if (left < cut) ls_divide(tid, window);
  thread->account.in[ls_slot_in(window)].waits++;
  ls_add_unseen(thread, thread->part, ls_part_of(left, woken, cut), window);
  ls_add_unseen(thread, LS_PART_RUNNABLE, ls_part_of(woken, back, cut), window);
  return 0;
}

/* A thread gets a processor `now`, and was not seen to leave the last one. It has been away while
 * it has not run since. Whether it was woken meanwhile is not known. */
__noinline int ls_leave_unseen(__u32 tid, __s32 system_call, __u64 ran_ns, __u64 now) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  __u64 ran = ran_ns - thread->left_ran_ns;
  if (thread->came_ns == 0 || now - thread->came_ns <= ran) return 0;
  const __u64 window = ls_window();
  const __u64 away = now - thread->came_ns - ran;
  ls_count_other(LS_COUNT_SWITCHES_NOT_SEEN);
  thread->account.in[ls_slot_in(window)].waits++;
  ls_set_labels(thread, ls_without_labels(LS_UNREADABLE_VANISHED));
  thread->system_call = system_call;
  __u32 part = system_call == LS_CALL_NONE ? LS_PART_RUNNABLE : LS_PART_WAITING;
  /* When it was away is not known, so this counts as of now. */
  ls_add_unseen(thread, part, (struct ls_ended_part){away, away}, window);
  return 0;
}

/* A thread has executed another program since it last waited, or its process has. What was drawn of
 * the waits before has no sample: whatever it would show is of the new program. */
__noinline int ls_begin_life(__u32 tid, __u32 life) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread) return 0;
  ls_add_late(tid, LS_UNREADABLE_VANISHED, LS_UNREADABLE_VANISHED);
  ls_add_held(tid, 1);
  ls_lose_drawn(thread, LS_COUNT_WAITS_OF_ENDED);
  thread->life = life;
  return 0;
}

/* Sends the account of a thread that ends now, and forgets the thread, unless somebody may still
 * wait for its end (`exits`: what becomes of it). */
__noinline int ls_send_account(__u32 tid, __u64 ran_ns, __u64 now, __u32 exits) {
  struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread || !thread->exits) return 0;
  ls_add_held(tid, 1);
  struct ls_thread_waits waits = {
      .record = {.size = sizeof(waits), .type = LS_RECORD_THREAD_WAITS},
      .account = thread->account,
      .divided = thread->divided,
      .late = thread->late[ls_slot_in(ls_window()) ^ 1],
      .ended_ns = now,
      .thread_ns = ran_ns,
      .pid = thread->pid,
      .tid = thread->tid,
      .life = thread->life,
  };
  if (bpf_ringbuf_output(&ring, &waits, sizeof(waits), BPF_RB_NO_WAKEUP))
    ls_count_other(LS_COUNT_DROPPED_THREAD_WAITS);
  if (exits) {
    thread->exits = exits;
    return 0;
  }
  bpf_map_delete_elem(&off_cpu_threads, &tid);
  /* It was woken while it exited, too. Nothing makes another entry now that it is not known. */
  ls_forget_woken(tid);
  return 0;
}

/* Labels that are missing at a switch are read again by the thread itself, which costs ten times as
 * much as the switch. Where that has failed so often in a row, as for a pointer that leads nowhere,
 * short waits have that outcome, and it is tried again only after this time. Beside a wait that is
 * longer the reading costs nothing, and much time would have an outcome that may be an old one. */
#define LS_MOST_FAILED_READS 16
#define LS_READ_AGAIN_NS 100000000
#define LS_SHORT_WAIT_NS 1000000

static __always_inline _Bool ls_stays_missing(const struct ls_off_cpu* thread, __u64 now) {
  return thread->labels == LS_LABELS_LATER && !thread->at_work &&
         thread->failed_reads >= LS_MOST_FAILED_READS &&
         now - thread->failed_ns < LS_READ_AGAIN_NS && now - thread->left_ns < LS_SHORT_WAIT_NS;
}

/* Notes what a thread has read of its labels with page faults allowed. */
static __always_inline void ls_note_late_read(struct ls_off_cpu* thread, __u32 outcome) {
  if (outcome == LS_LABELLED || outcome == LS_UNLABELLED) {
    thread->failed_reads = 0;
    return;
  }
  thread->failed_labels = outcome;
  thread->failed_ns = bpf_ktime_get_ns();
  thread->failed_reads++;
}

struct ls_leaving {
  _Bool runnable;
  _Bool stopped;
  _Bool uninterruptible;
  _Bool frozen;
};

/* Returns whether a runnable task gets no processor because of a limit of its own: the quota of its
 * group, or its runtime as a deadline task. The kernel takes it off the queue with this mark, until
 * the next period begins. */
static __always_inline _Bool ls_is_throttled(struct task_struct* task) {
  const struct task_struct___ls_limits* limits = (const void*)task;
  if (bpf_core_field_exists(limits->throttled) && limits->throttled) return 1;
  return bpf_core_field_exists(limits->dl.dl_throttled) &&
         BPF_CORE_READ_BITFIELD(limits, dl.dl_throttled);
}

/* A frozen task is in no system call any more, whatever its registers say. The kernel sets the mark
 * for the parent of a vfork(), too, so that it can be frozen meanwhile; that one waits
 * uninterruptibly, and the freezer does not (kernel/fork.c, kernel/cgroup/freezer.c). */
static __always_inline _Bool ls_is_frozen(struct task_struct* task) {
  const struct task_struct___ls_limits* limits = (const void*)task;
  return bpf_core_field_exists(limits->frozen) && BPF_CORE_READ_BITFIELD(limits, frozen);
}

/* Returns what a task waits for that leaves its processor. */
static __always_inline __s32 ls_reason_of(struct task_struct* task, struct ls_leaving how) {
  if (how.stopped) return LS_CALL_STOPPED;
  if (how.runnable) return ls_is_throttled(task) ? LS_CALL_THROTTLED : ls_system_call_of(task);
  if (how.frozen || (!how.uninterruptible && ls_is_frozen(task))) return LS_CALL_FROZEN;
  __s32 call = ls_system_call_of(task);
  return call == LS_CALL_NONE ? LS_CALL_FAULT : call;
}

static __always_inline void ls_leave(struct task_struct* task, struct ls_ids ids,
                                     struct ls_leaving how, __u64 now) {
  struct ls_found_process found = ls_find_process(ids.pid);
  const _Bool exits = task->flags & LS_TASK_EXITING;
  struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  /* The last thread of a process waits on, while the process is no longer known. Other threads of
   * one that is not known belong to a process that is no longer recorded. */
  if (!found.life && !exits) {
    if (thread) bpf_map_delete_elem(&off_cpu_threads, &ids.tid);
    return;
  }
  /* Another thread has the number of one that has ended, by an exec. */
  if (thread && thread->exits && !exits) {
    bpf_map_delete_elem(&off_cpu_threads, &ids.tid);
    thread = 0;
  }
  if (thread && thread->exits == LS_EXITS_SETTLED) return;
  __u64 ran_ns = task->se.sum_exec_runtime;
  if (!thread) {
    if (!ls_is_recorded(&found) || exits) return;
    ls_add_thread(ids.tid, ids.pid, *found.life, ran_ns, now);
    thread = bpf_map_lookup_elem(&off_cpu_threads, &ids.tid);
    if (!thread) return;
  } else if (found.process && !ls_is_recorded(&found)) {
    return;
  }
  if (thread->left_ns != 0) ls_return_unseen(ids.tid, ran_ns, now);
  if (found.life && !exits && *found.life != thread->life) ls_begin_life(ids.tid, *found.life);
  struct ls_numbers numbers = ls_without_labels(LS_UNREADABLE_VANISHED);
  /* While labels are missing, they stay so: the thread is still in the kernel. */
  const _Bool waits_for_them = thread->labels == LS_LABELS_LATER && thread->at_work;
  if (!thread->exits && !waits_for_them && found.process)
    numbers = ls_labels_at_leaving(&found, ids);
  if (thread->exits || !waits_for_them) ls_set_labels(thread, numbers);
  /* One that has just taken its labels off, and loses its processor before it ends, has still
   * worked for what they said. */
  const _Bool has_labels = thread->labels >= LS_FIRST_LABEL_NUMBER;
  if (!thread->exits && (!how.runnable || has_labels || thread->last_labels == 0))
    thread->last_labels = thread->blame_labels;
  thread->system_call = ls_reason_of(task, how);
  thread->part = how.uninterruptible ? LS_PART_UNINTERRUPTIBLE : LS_PART_WAITING;
  thread->woken_ns = how.runnable ? now : 0;
  thread->left_ran_ns = ran_ns;
  thread->left_ns = now;
}

static int ls_sample_wait(struct bpf_map* map, void* key, void* value);

static __always_inline void ls_return(struct task_struct* task, struct ls_ids ids, __u64 now) {
  struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (!thread || thread->exits == LS_EXITS_SETTLED) return;
  if (thread->left_ns == 0) {
    ls_leave_unseen(ids.tid, ls_system_call_of(task), task->se.sum_exec_runtime, now);
    thread->came_ns = now;
    return;
  }
  thread->came_ns = now;
  /* User space may have added the entry after `now` was read. */
  struct ls_moments when = {
      .left_ns = thread->left_ns, .woken_ns = now, .now = now, .window = ls_window()};
  if (thread->woken_ns >= when.left_ns) when.woken_ns = thread->woken_ns;
  if (thread->woken_ns == 0) ls_count_other(LS_COUNT_WAKEUPS_NOT_SEEN);
  const __u64 cut = ls_cut_of(when.window);
  const struct ls_ended_part waited = ls_part_of(when.left_ns, when.woken_ns, cut);
  const struct ls_ended_part queued = ls_part_of(when.woken_ns, now, cut);
  if (ls_stays_missing(thread, now))
    ls_set_labels(thread, ls_without_labels(thread->failed_labels));
  if (config.blame) ls_blame_wait(thread, &when);
  if (when.left_ns < cut) ls_divide(ids.tid, when.window);
  *(volatile __u64*)&thread->left_ns = 0;
  thread->account.in[ls_slot_in(when.window)].waits++;
  __u32 zero = 0;
  const __u64* unit = bpf_map_lookup_elem(&off_cpu_unit, &zero);
  if (!unit) return;
  /* Each part needs a number of its own, but not one that is independent of the other's. A product
   * with an odd number takes each value once. */
  __u32 chance = bpf_get_prandom_u32();
  __u64 drawn = ls_add_part(thread, thread->part, waited, when.window, *unit, chance);
  drawn |= ls_add_part(thread, LS_PART_RUNNABLE, queued, when.window, *unit,
                       chance * 0x9e3779b1U);
  if (!drawn && thread->labels != LS_LABELS_LATER) return;
  /* The thread has not been in user mode since, so the sample that is scheduled takes it along. */
  if (thread->at_work) return;
  thread->at_work = 1;
  if (task->flags & LS_TASK_EXITING ||
      ls_schedule_resume(task, &thread->work, &off_cpu_threads, ls_sample_wait)) {
    thread->at_work = 0;
    ls_add_late(ids.tid, LS_UNREADABLE_NOT_RESIDENT, LS_UNREADABLE_NOT_RESIDENT);
    ls_lose_drawn(thread, LS_COUNT_WAITS_REFUSED);
  }
}

/* Another thread may have the number by now. */
static __always_inline void ls_forget_settled(__u32 tid) {
  const struct ls_off_cpu* thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
  if (!thread || thread->exits != LS_EXITS_SETTLED) return;
  bpf_map_delete_elem(&off_cpu_threads, &tid);
  ls_forget_woken(tid);
}

/* The task has left its last processor. */
static __always_inline void ls_end_thread(struct task_struct* task, __u64 now) {
  if (config.pid_namespace != 0) { /* it has lost its numbers there, see on_waiter_exit() */
    __u64 key = bpf_get_current_task();
    const struct ls_ending* ending = bpf_map_lookup_elem(&endings, &key);
    if (ending) ls_forget_settled(ending->tid);
    return;
  }
  struct ls_ids ids = ls_ids_of_argument(task);
  struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (!thread || !thread->exits) return;
  __u64 ran_ns = task->se.sum_exec_runtime;
  if (thread->left_ns != 0) ls_return_unseen(ids.tid, ran_ns, now);
  ls_send_account(ids.tid, ran_ns, now, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempted, struct task_struct* leaves, struct task_struct* comes,
             unsigned int state) {
  (void)ctx;
  struct ls_ids leaving = ls_waiter_ids(leaves);
  struct ls_ids coming = ls_waiter_ids(comes);
  const _Bool may_end = config.pid_namespace != 0 && state & LS_STATE_DEAD;
  if (leaving.pid == 0 && coming.pid == 0 && !config.blame && !may_end) return 0;
  __u64 now = bpf_ktime_get_ns();
  if (leaving.pid != 0 && !(state & LS_STATE_DEAD)) {
    const struct ls_leaving how = {
        .runnable = preempted || state == 0,
        .stopped = !preempted && state & LS_STATE_STOPPED,
        .uninterruptible = !preempted && state & LS_STATE_UNINTERRUPTIBLE,
        .frozen = !preempted && state & LS_STATE_FROZEN};
    ls_leave(leaves, leaving, how, now);
  }
  if (config.blame) ls_end_turn(leaves, now);
  if ((leaving.pid != 0 || config.pid_namespace != 0) && state & LS_STATE_DEAD)
    ls_end_thread(leaves, now);
  if (coming.pid != 0) ls_return(comes, coming, now);
  return 0;
}

/* What was drawn and not sent, because the thread never comes back to user mode. It may wait on:
 * the entry stays until ls_end_thread(). */
SEC("raw_tp/sched_process_exit")
int on_waiter_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct ls_ids ids = ls_ids_of((struct task_struct*)ctx->args[0], config.pid_namespace);
  struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (!thread) return 0;
  ls_add_late(ids.tid, LS_UNREADABLE_VANISHED, LS_UNREADABLE_VANISHED);
  ls_lose_drawn(thread, LS_COUNT_WAITS_OF_ENDED);
  thread->exits = 1;
  /* Its numbers in a pid namespace may be gone when it leaves its last processor. Who waits for its
   * end waits for what it has worked for, so its labels stay known until then. */
  if (config.pid_namespace != 0)
    ls_send_account(ids.tid, ls_time_of((struct task_struct*)ctx->args[0]), bpf_ktime_get_ns(),
                    config.blame ? LS_EXITS_SETTLED : 0);
  return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct* task) {
  (void)ctx;
  struct ls_ids ids = ls_waiter_ids(task);
  if (ids.pid == 0) return 0;
  struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (thread && thread->left_ns != 0 && thread->woken_ns == 0)
    thread->woken_ns = bpf_ktime_get_ns();
  return 0;
}

/* A new thread waits for its first processor. Its labels are read when it has one. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct* task) {
  (void)ctx;
  if (!ls_takes_samples(task)) return 0;
  struct ls_ids ids = ls_ids_of_argument(task);
  struct ls_found_process found = ls_find_process(ids.pid);
  if (ids.pid == 0 || !ls_is_recorded(&found)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  const __u64 ran_ns = task->se.sum_exec_runtime;
  ls_add_thread(ids.tid, ids.pid, *found.life, ran_ns, now);
  struct ls_off_cpu* fresh = bpf_map_lookup_elem(&off_cpu_threads, &ids.tid);
  if (!fresh) return 0;
  fresh->labels = LS_LABELS_LATER;
  fresh->blame_labels = LS_LABELS_LATER;
  fresh->system_call = LS_CALL_NONE;
  fresh->left_ran_ns = ran_ns;
  fresh->woken_ns = now;
  fresh->left_ns = now;
  return 0;
}

/* Sends what was drawn of one part, with the labels and the stack that are in `own`. */
static __always_inline void ls_send_wait(struct ls_scratch* own, struct ls_off_cpu* thread,
                                         enum ls_wait_part part, enum ls_sample_kind kind) {
  if (thread->drawn_ns[part] == 0) return;
  own->sample.weight_ns = ls_take(&thread->drawn_ns[part]);
  own->sample.kind = kind;
  ls_count_other(LS_COUNT_TAKEN);
  ls_count_other(own->reading.labels.head.outcome);
  if (own->reading.labels.head.flags & LS_TRUNCATED) ls_count_other(LS_COUNT_TRUNCATED);
  if (ls_send_sample(own)) return;
  ls_count_other(LS_COUNT_DROPPED_SAMPLE);
}

/* Reads the labels of the current thread, and brings pages in for that. */
static __always_inline void ls_read_patiently(__u32 index, struct ls_scratch* own, __u32 pid) {
  struct ls_found_process found = ls_find_process(pid);
  ls_clear_labels(&own->reading.labels);
  own->reading.fault.size = 0;
  own->ended = found.process == 0;
  own->is_worker = 0;
  if (!found.process) {
    own->reading.labels.head.outcome = LS_UNREADABLE_VANISHED;
    return;
  }
  ls_copy_process(own, &found);
  own->reading.x28 = ls_wanted_x28(0, &own->reading.recipes);
  struct ls_retry_rounds rounds = {
      ls_known_pointer(own->first_pointer_known, ls_current_thread().pointer), index};
  bpf_loop(LS_RETRY_ROUNDS, ls_read_and_touch, &rounds, 0);
}

static __always_inline void ls_observe_wait(__u32 index, struct ls_scratch* own,
                                            struct ls_off_cpu* thread) {
  struct ls_slot slot = {LS_COUNTERS_OTHERS, index};
  ls_read_patiently(index, own, thread->pid);
  __u32 tid = thread->tid;
  if (!own->ended && own->life != thread->life) ls_begin_life(tid, own->life);
  if (thread->labels == LS_LABELS_LATER) {
    /* A wait that comes from now on has its labels. */
    ls_note_late_read(thread, own->reading.labels.head.outcome);
    ls_name_labels(index, thread->pid);
    ls_reload();
    struct ls_numbers numbers = own->numbers;
    ls_set_labels(thread, numbers);
    if (thread->last_labels == LS_LABELS_LATER || numbers.labels >= LS_FIRST_LABEL_NUMBER)
      thread->last_labels = numbers.blame;
    ls_add_late(tid, numbers.labels, numbers.blame);
  }
  own->sample.time_ns = bpf_ktime_get_ns();
  own->sample.retry_id = 0;
  own->sample.thread_ns = ls_current_thread().time_ns;
  own->sample.pid = thread->pid;
  own->sample.life = thread->life;
  own->sample.tid = ls_current_ids().tid;
  own->sample.identity = ls_current_identity();
  own->sample.system_call = thread->system_call;
  bpf_get_current_comm(own->sample.comm, sizeof(own->sample.comm));
  ls_take_own_stack(slot, own);
}

static int ls_sample_wait(struct bpf_map* map, void* key, void* value) {
  struct ls_off_cpu* thread = value;
  __u32 index = 0;

  (void)map;
  (void)key;
  if (thread->exits) return 0; /* its memory may be gone */
  if (bpf_map_pop_elem(&free_scratches, &index) == 0) {
    struct ls_scratch* own = ls_scratch_at(index);
    if (own) {
      ls_observe_wait(index, own, thread);
      ls_send_wait(own, thread, LS_PART_WAITING, LS_WAITING);
      ls_send_wait(own, thread, LS_PART_UNINTERRUPTIBLE, LS_UNINTERRUPTIBLE);
      ls_send_wait(own, thread, LS_PART_RUNNABLE, LS_RUNNABLE);
    }
    bpf_map_push_elem(&free_scratches, &index, BPF_ANY);
  } else {
    ls_lose_drawn(thread, LS_COUNT_WAITS_WITHOUT_SCRATCH);
  }
  /* From here on a wait schedules work of its own. */
  thread->at_work = 0;
  ls_add_late(thread->tid, LS_UNREADABLE_NOT_RESIDENT, LS_UNREADABLE_NOT_RESIDENT);
  /* Reading memory may wait, too. What is drawn of that behind the sending has no sample. */
  ls_lose_drawn(thread, LS_COUNT_WAITS_REFUSED);
  return 0;
}

#endif /* LABELSCOPE_BPF_OFF_CPU_BPF_H */
