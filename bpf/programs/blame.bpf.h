/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the totals of who made whom wait (--blame): the time of waits by the labels of the
 * thread that waited, and by what made it wait.
 *
 *   waiter   ...runs |------- waits -------|---- runnable ----| runs...
 *                                          |                  |
 *                                    sched_waking        sched_switch
 *                                    runs in the         who had this processor meanwhile:
 *                                    waker: its labels   |-- turn --|-- turn --|-- turn --|
 *                                                            ^ each with the labels at its end
 *
 * A thread that is woken by another one waited because of it: the waker has released the lock, or
 * has written into the pipe. A waker that is an interrupt is none of the thread that it has
 * interrupted: it is a class of its own, by whether a timer ran out or not. A thread that waits for
 * a processor does so because of those that have it, each for the length of its turn.
 *
 * What is blamed on nobody here is not lost: user space knows the whole of each total, and calls
 * the rest unknown (cli/profile/blame.h). These are waits without a wake-up, and what there was no
 * room for.
 *
 * Nearly all of this runs with interrupts off, like the rest of the scheduler's hooks, so none of
 * these programs interrupts another one. on_timer() and its siblings are interrupts themselves.
 * There is one exception: a soft interrupt that wakes the very task it has interrupted announces
 * that with interrupts on. If a hard one comes in the middle, and wakes a thread, then the kernel
 * does not run on_waking() once more on this processor. That wake-up keeps an older waker, and the
 * kernel counts it among the misses of the program. */
#ifndef LABELSCOPE_BPF_BLAME_BPF_H
#define LABELSCOPE_BPF_BLAME_BPF_H

#include <bpf/bpf_tracing.h>

#include "bpf/programs/lock_owner.bpf.h"

/* This is a bit of the kernel's preempt_count: what runs is a soft interrupt. The bits of hard ones
 * are others since Linux 7.x (config.hard_interrupt). */
#define LS_IN_SOFT_INTERRUPT 0x00000100

/* So many turns on a processor are remembered. It must be a power of two. */
#define LS_TURNS 128
#define LS_SCALE_BITS 20

/* A thread had the processor up to this time, since the end of the turn before. */
struct ls_turn {
  __u64 end_ns;
  struct ls_blamed who;
};

/* What is known of a processor. */
struct ls_processor {
  __u64 turns_ended;
  __u32 timer_in_hard; /* a hard interrupt runs the function of a timer */
  __u32 timer_in_soft; /* a soft one does */
  /* These are of ls_blame_turns(): the wait, and what of it is not yet blamed. They are here since
   * the verifier follows values on the stack through each round. */
  struct ls_blame_key key;
  __u64 from_ns;
  __u64 until_ns;
  __u64 scale; /* so much longer is the wait than what is remembered, times 2^LS_SCALE_BITS */
  struct ls_turn turns[LS_TURNS];
};

/* By the number of the processor. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_processor);
  __uint(max_entries, 1);
} processors SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_woken);
  __uint(max_entries, 1);
} woken_threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct ls_blame_key);
  __type(value, struct ls_blame_total);
  __uint(max_entries, 1);
} blame_totals SEC(".maps");

/* A thread may wait before its labels are read. Its waits are blamed on others all the same: under
 * a number that is drawn for the time in which they are missing. When they are read, this map gets
 * what they are, and user space puts it in the place of that number. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __type(key, __u64);
  __type(value, __u64);
  __uint(max_entries, 1);
} late_labels SEC(".maps");

/* Nothing writes here (see ls_no_waits). */
static struct ls_woken ls_never_woken;
static struct ls_blame_total ls_no_blame;

static __always_inline struct ls_processor* ls_this_processor(void) {
  __u32 number = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&processors, &number);
}

/* ---- what runs now */

#if defined(__TARGET_ARCH_x86)
/* The count is a variable of each processor, and so is its run queue, to which each task has a
 * pointer. User space knows from the kernel's BTF how far they are apart. (The kernel itself gives
 * programs the addresses of its variables only with CONFIG_KALLSYMS_ALL.) */
static __always_inline __u32 ls_preempt_count(void) {
  const struct task_struct___ls_queue* task = (void*)bpf_get_current_task_btf();
  __u64 queue = (__u64)BPF_CORE_READ(task->se.cfs_rq, rq);
  __u32 count = 0;
  bpf_probe_read_kernel(&count, sizeof(count), (void*)(queue + config.preempt_count_distance));
  return count;
}
#else
/* The upper half says whether the kernel wants to switch. */
static __always_inline __u32 ls_preempt_count(void) {
  const struct task_struct___ls_info* task = (void*)bpf_get_current_task_btf();
  return (__u32)task->thread_info.preempt_count;
}
#endif

/* Returns the bits of the interrupt that runs here, or 0. */
static __always_inline __u32 ls_interrupt(void) {
  __u32 count = ls_preempt_count();
  if (bpf_core_field_exists(((struct task_struct___ls_soft*)0)->softirq_disable_cnt)) {
    const struct task_struct___ls_soft* task = (void*)bpf_get_current_task_btf();
    count |= BPF_CORE_READ(task, softirq_disable_cnt);
  }
  return count & (config.hard_interrupt | LS_IN_SOFT_INTERRUPT);
}

/* A timer's function runs from one of these events to the next. A hard interrupt may come in the
 * middle of a soft one, so each has a mark of its own. */
static __always_inline int ls_mark_timer(__u32 runs) {
  struct ls_processor* here = ls_this_processor();
  if (!here) return 0;
  if (ls_interrupt() & config.hard_interrupt)
    here->timer_in_hard = runs;
  else
    here->timer_in_soft = runs;
  return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer) {
  (void)ctx;
  return ls_mark_timer(1);
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_timer_end) {
  (void)ctx;
  return ls_mark_timer(0);
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_coarse_timer) {
  (void)ctx;
  return ls_mark_timer(1);
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(on_coarse_timer_end) {
  (void)ctx;
  return ls_mark_timer(0);
}

/* ---- who is to blame */

/* Says who the current task is, all but its labels. */
static __always_inline void ls_blame_task(struct ls_blamed* who, struct task_struct* task,
                                          struct ls_ids ids, const struct ls_found_process* found) {
  who->kind = LS_BLAME_KERNEL;
  /* The idle task has the number 0. */
  if (task->pid == 0 || !ls_takes_samples(task)) return;
  if (found->life && (!found->process || ls_is_recorded(found))) {
    who->kind = LS_BLAME_THREAD;
    who->pid = ids.pid;
    who->life = *found->life;
    who->labels = LS_UNREADABLE_VANISHED;
    return;
  }
  who->kind = LS_BLAME_PROCESS;
  BPF_CORE_READ_STR_INTO(&who->comm, task, group_leader, comm);
}

/* Says that a thread which is recorded is to blame, with labels that were read before. */
static __always_inline void ls_blame_known(struct ls_blamed* who, const struct ls_off_cpu* thread,
                                           __u64 labels) {
  who->kind = LS_BLAME_THREAD;
  who->pid = thread->pid;
  who->life = thread->life;
  who->labels = labels == LS_LABELS_LATER ? LS_UNREADABLE_NOT_RESIDENT : labels;
}

/* Says who ends, if a thread that is recorded does. It has cleared its labels itself, or its memory
 * is gone, and so may be its process. What it had at its last switch is what it has worked for. */
static __always_inline _Bool ls_blame_ending(struct ls_blamed* who, const struct task_struct* task,
                                             struct ls_ids ids) {
  if (!(task->flags & LS_TASK_EXITING)) return 0;
  const struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (!thread) return 0;
  ls_blame_known(who, thread, thread->last_labels ? thread->last_labels : thread->blame_labels);
  return 1;
}

/* Says who runs here now. */
static __always_inline void ls_blame_current(struct ls_blamed* who) {
  __u32 interrupt = ls_interrupt();
  if (interrupt) {
    struct ls_processor* here = ls_this_processor();
    __u32 timer = 0;
    if (here) {
      timer = interrupt & config.hard_interrupt ? here->timer_in_hard : here->timer_in_soft;
    }
    who->kind = timer ? LS_BLAME_TIMER : LS_BLAME_INTERRUPT;
    return;
  }
  struct task_struct* task = bpf_get_current_task_btf();
  struct ls_ids ids = ls_ids_of_argument(task);
  if (ls_blame_ending(who, task, ids)) return;
  struct ls_found_process found = ls_find_process(ids.pid);
  ls_blame_task(who, task, ids, &found);
  if (who->kind != LS_BLAME_THREAD || !found.process) return;
  who->labels = ls_labels_at_leaving(&found, ids).blame;
  /* What is missing cannot be read again: the waker goes on. */
  if (who->labels == LS_LABELS_LATER) who->labels = LS_UNREADABLE_NOT_RESIDENT;
}

/* Returns the entry of a thread that waits, or null if there is no room for it. */
static __always_inline struct ls_woken* ls_woken_at(__u32 tid) {
  struct ls_woken* woken = bpf_map_lookup_elem(&woken_threads, &tid);
  if (!woken) {
    bpf_map_update_elem(&woken_threads, &tid, &ls_never_woken, BPF_NOEXIST);
    woken = bpf_map_lookup_elem(&woken_threads, &tid);
  }
  if (!woken) ls_count_other(LS_COUNT_BLAME_WITHOUT_ROOM);
  return woken;
}

/* A thread that is known from now on, or no longer, has nothing of another one whose number it has:
 * neither a waker, nor the number for labels that come late. */
static __always_inline void ls_forget_woken(__u32 tid) {
  if (config.blame) bpf_map_delete_elem(&woken_threads, &tid);
}

/* Notes that the current thread lets go of the lock for which a thread waits that it wakes, if it
 * does: it calls futex() with the lock's address. */
static __always_inline void ls_lets_go(struct ls_woken* woken) {
  const __u8 does = 1;
  struct task_struct* task = bpf_get_current_task_btf();
  if (woken->waker.kind != LS_BLAME_THREAD || ls_system_call_of(task) != LS_CALL_FUTEX) return;
  const struct ls_letting_go* owner = &woken->owner.who_lets_go;
  struct ls_letting_go who = {owner->lock, task->tgid, task->pid};
  if (LS_LOCK_AT(ls_futex_call_of(task).address) != who.lock) return;
  if (!bpf_map_lookup_elem(&letting_go, &who))
    bpf_map_update_elem(&letting_go, &who, &does, BPF_ANY);
  woken->other_lets_go = who.pid != owner->pid || who.tid != owner->tid;
}

/* Returns whether the owner is to blame for the wait that begins at `left_ns`. */
static __always_inline _Bool ls_owner_holds(const struct ls_woken* woken, __u64 left_ns) {
  if (woken->owner_ns != left_ns) return 0;
  struct ls_letting_go owner = woken->owner.who_lets_go;
  if (!woken->other_lets_go || bpf_map_lookup_elem(&letting_go, &owner)) {
    ls_count_other(LS_COUNT_OWNERS_FOUND);
    return 1;
  }
  ls_count_other(LS_COUNT_OWNERS_ELSEWHERE);
  return 0;
}

/* This runs in the waker, before the thread can run again. A thread that is about to wait may be
 * woken before it has left its processor, so the entry is written whether or not it has. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* task) {
  (void)ctx;
  if (!ls_takes_samples(task)) return 0;
  struct ls_ids ids = ls_ids_of_argument(task);
  if (!ls_off_cpu_of(ids)) return 0;
  struct ls_woken* woken = ls_woken_at(ids.tid);
  if (!woken) return 0;
  struct ls_blamed who = {};
  ls_blame_current(&who);
  woken->waker = who;
  if (woken->owner.who_lets_go.lock) ls_lets_go(woken);
  return 0;
}

/* Notes who holds the lock for which a thread leaves its processor, as of this moment: later on the
 * owner may change its labels, or another thread may take the lock first. This runs right after
 * on_switch(), since it is attached later, so the thread has its entry, and is still the current
 * one. It is a program of its own because the verifier would look at all of it again on each path
 * through the other one. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_block, _Bool preempted, struct task_struct* leaves, struct task_struct* comes,
             unsigned int state) {
  (void)ctx;
  (void)comes;
  if (preempted || !(state & LS_STATE_INTERRUPTIBLE) || !ls_takes_samples(leaves)) return 0;
  struct ls_ids ids = ls_ids_of_argument(leaves);
  const struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (!thread || thread->left_ns == 0 || thread->system_call != LS_CALL_FUTEX) return 0;
  struct ls_owner owner = {};
  ls_find_owner(&owner, leaves, ids.pid, thread->left_ns);
  if (owner.who.kind == LS_BLAME_UNKNOWN) return 0;
  owner.who.life = thread->life; /* it is of the same process */
  struct ls_woken* woken = ls_woken_at(ids.tid);
  if (!woken) return 0;
  woken->owner = owner;
  woken->other_lets_go = 0;
  woken->owner_ns = thread->left_ns;
  return 0;
}

/* ---- totals */

static __always_inline void ls_add_blame(struct ls_blame_key* key, __u64 ns) {
  struct ls_blame_total* total = bpf_map_lookup_elem(&blame_totals, key);
  if (!total) {
    struct ls_totals_made* made = ls_totals_made();
    if (!bpf_map_update_elem(&blame_totals, key, &ls_no_blame, BPF_NOEXIST) && made)
      __sync_fetch_and_add(&made->blame, 1);
    total = bpf_map_lookup_elem(&blame_totals, key);
  }
  if (!total) {
    ls_count_other(LS_COUNT_BLAME_WITHOUT_ROOM);
    return;
  }
  __sync_fetch_and_add(&total->ns, ns);
  __sync_fetch_and_add(&total->count, 1);
}

/* Blames a part of the wait in `key`, whose labels may be missing. */
static __always_inline void ls_blame(struct ls_blame_key* key, struct ls_woken* woken, __u64 ns) {
  if (ns == 0 || key->who.kind == LS_BLAME_UNKNOWN) return;
  if (key->wait.labels != LS_LABELS_LATER) {
    ls_add_blame(key, ns);
    return;
  }
  if (!woken) return;
  if (woken->late == 0)
    woken->late = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
  key->wait.labels = woken->late;
  key->wait.generation |= LS_GENERATION_LATE;
  ls_add_blame(key, ns);
  key->wait.generation &= ~LS_GENERATION_LATE;
  key->wait.labels = LS_LABELS_LATER;
}

/* The labels of a thread have been read that were missing at its last waits (ls_add_late()). */
static __always_inline void ls_blame_late(const struct ls_off_cpu* thread, __u64 labels) {
  __u32 tid = thread->tid;
  struct ls_woken* woken = bpf_map_lookup_elem(&woken_threads, &tid);
  if (!woken || woken->late == 0) return;
  __u64 late = ls_take(&woken->late);
  if (late == 0) return;
  if (bpf_map_update_elem(&late_labels, &late, &labels, BPF_ANY))
    ls_count_other(LS_COUNT_BLAME_WITHOUT_ROOM);
}

/* ---- who has a processor */

/* Says who leaves the processor `now`. If ls_leave() has just seen it leave, it is a thread that is
 * recorded, and its entry has all: most of the time there is nothing else to look up. */
static __always_inline void ls_blame_leaving(struct ls_blamed* who, struct task_struct* leaves,
                                             __u64 now) {
  struct ls_ids ids = ls_ids_of_argument(leaves);
  struct ls_found_process found = {.pid = ids.pid};
  if (ls_blame_ending(who, leaves, ids)) return;
  if (!ls_may_be_recorded(ids.pid)) {
    ls_blame_task(who, leaves, ids, &found);
    return;
  }
  const struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (thread && thread->left_ns == now) {
    ls_blame_known(who, thread, thread->blame_labels);
    return;
  }
  found = ls_find_process(ids.pid);
  ls_blame_task(who, leaves, ids, &found);
  if (thread && who->kind == LS_BLAME_THREAD) ls_blame_known(who, thread, thread->blame_labels);
}

/* Notes that this thread leaves the processor. Its labels are those of `off_cpu_threads`, which
 * were read a moment ago. */
static __always_inline void ls_end_turn(struct task_struct* leaves, __u64 now) {
  struct ls_processor* here = ls_this_processor();
  if (!here) return;
  struct ls_turn* turn = &here->turns[here->turns_ended % LS_TURNS];
  struct ls_blamed who = {};
  ls_blame_leaving(&who, leaves, now);
  turn->who = who;
  turn->end_ns = now;
  here->turns_ended++;
}

struct ls_rounds_of_turns {
  struct ls_processor* here;
  struct ls_woken* woken;
};

/* One round is one turn, the last one first. */
LS_ROUND ls_blame_turn(__u32 i, void* argument) {
  struct ls_rounds_of_turns* rounds = argument;
  struct ls_processor* here = rounds->here;
  const struct ls_turn* turn = &here->turns[(here->turns_ended - 1 - i) % LS_TURNS];
  const struct ls_turn* before = &here->turns[(here->turns_ended - 2 - i) % LS_TURNS];
  __u64 begin = before->end_ns > here->from_ns ? before->end_ns : here->from_ns;
  if (here->until_ns > begin) {
    here->key.who = turn->who;
    ls_blame(&here->key, rounds->woken, (here->until_ns - begin) * here->scale >> LS_SCALE_BITS);
    here->until_ns = begin;
  }
  return begin == here->from_ns;
}

/* Blames what a thread has waited for a processor on those that have had it: this one, where it
 * runs now, whatever others it has waited for before. Turns that are no longer remembered are taken
 * to have been like the last ones. */
static __always_inline void ls_blame_turns(struct ls_processor* here, struct ls_woken* woken,
                                           __u64 from_ns, __u64 until_ns) {
  struct ls_rounds_of_turns rounds = {here, woken};
  __u64 oldest_ns = here->turns[here->turns_ended % LS_TURNS].end_ns;
  __u64 queued = until_ns - from_ns;
  here->from_ns = from_ns;
  here->until_ns = until_ns;
  here->scale = 1 << LS_SCALE_BITS;
  if (oldest_ns > from_ns && oldest_ns < until_ns && queued >> (63 - LS_SCALE_BITS) == 0)
    here->scale = (queued << LS_SCALE_BITS) / (until_ns - oldest_ns);
  here->key.wait.part = LS_PART_RUNNABLE;
  ls_each(LS_TURNS - 1, ls_blame_turn, &rounds);
}

/* Returns the reason for which a wait of this kind counts. While labels are missing, all waits of a
 * kind are one total, which has the reason of the first, and so has their blame. */
static __always_inline __s32 ls_reason_in_part(const struct ls_off_cpu* thread, __u32 part,
                                               __u64 window) {
  if (thread->labels != LS_LABELS_LATER || part >= LS_WAIT_PARTS) return thread->system_call;
  const struct ls_late_waits* late = &thread->late[ls_slot_in(window)];
  if (late->cut_ns != ls_cut_of(window) || late->count[part] == 0) return thread->system_call;
  return late->system_call[part];
}

/* The moments of a wait that has ended. */
struct ls_moments {
  __u64 left_ns;
  __u64 woken_ns; /* if no wake-up was seen, the thread has waited until now */
  __u64 now;
  __u64 window; /* what was before its cut does not count any more */
};

static __always_inline __u64 ls_later(__u64 one, __u64 other) { return one > other ? one : other; }

/* Blames for a wait that has ended, or for what of it is in this window. */
static __always_inline void ls_blame_wait(const struct ls_off_cpu* thread,
                                          const struct ls_moments* when) {
  const __u64 cut = ls_cut_of(when->window);
  const __u64 from_ns = ls_later(when->left_ns, cut);
  const __u64 queued_ns = ls_later(when->woken_ns, cut);
  __u32 tid = thread->tid;
  struct ls_processor* here = ls_this_processor();
  /* A thread that waited for a processor when the recording began has not been woken, and its
   * labels come late. */
  struct ls_woken* woken = thread->labels == LS_LABELS_LATER
                               ? ls_woken_at(tid)
                               : bpf_map_lookup_elem(&woken_threads, &tid);
  if (!here) return;
  here->key.wait.labels = thread->blame_labels;
  here->key.wait.pid = thread->pid;
  here->key.wait.life = thread->life;
  here->key.wait.generation = ls_generation_of(when->window);
  here->key.wait.system_call = ls_reason_in_part(thread, thread->part, when->window);
  here->key.wait.part = thread->part;
  if (woken) {
    here->key.who = ls_owner_holds(woken, when->left_ns) ? woken->owner.who : woken->waker;
    if (when->woken_ns > from_ns) ls_blame(&here->key, woken, when->woken_ns - from_ns);
    woken->waker.kind = LS_BLAME_UNKNOWN;
    woken->owner.who_lets_go.lock = 0;
  }
  if (when->now <= queued_ns) return;
  here->key.wait.system_call = ls_reason_in_part(thread, LS_PART_RUNNABLE, when->window);
  if (thread->system_call == LS_CALL_THROTTLED) {
    here->key.wait.part = LS_PART_RUNNABLE;
    here->key.who = (struct ls_blamed){.kind = LS_BLAME_QUOTA};
    ls_blame(&here->key, woken, when->now - queued_ns);
    return;
  }
  ls_blame_turns(here, woken, queued_ns, when->now);
}

#endif /* LABELSCOPE_BPF_BLAME_BPF_H */
