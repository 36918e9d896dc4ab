/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This finds the thread that holds the lock for which the current thread is about to wait. The
 * kernel does not know it: a futex is one word of the program's memory, and what the word means is
 * the program's own affair. But where the library's locks have a word for their owner, it says who
 * that is, and it is the number that gettid() returns there.
 *
 *   glibc, 64 bits     +0          +4       +8        +12      +16    +20      +24
 *   pthread_mutex_t    lock        count    owner     nusers   kind   spins    list, 16 bytes
 *                      ^ futex: 2, or owner | FUTEX_WAITERS if it is robust
 *   pthread_rwlock_t   readers     writers  wrphase   writers  pad    pad      owner    shared
 *                                           ^ futex   ^ futex: 3        (__cur_writer)
 *   FUTEX_LOCK_PI      owner | FUTEX_WAITERS: the kernel itself defines this word
 *
 * Condition variables, semaphores, and the locks of other languages sleep in the same system call,
 * on words of other shapes, beside which anything may stand. A wrong owner is worse than none. So
 * several things must agree: the operation, the value that the kernel compares with, each field
 * that has few possible values, and the owner, which must be a live thread of the same process, and
 * not the one that waits. A word of a program's own may look so all the same, for instance one
 * beside the number of a worker. But who holds a lock wakes others when it lets go:
 *
 *   feeder        ...waits for the word |------------------|
 *   the number    "worker"                                 |
 *   who wakes it  thread 12 -----------------------------> that word: not the worker
 *
 * So an owner counts only as long as nobody else lets go of the lock, or if it has done so itself
 * (ls_lets_go(), ls_owner_holds() in blame.bpf.h).
 *
 * The number counts in the innermost pid namespace of the process, and so does
 * bpf_task_from_vpid() (Linux 6.14, so every kernel has it that can sample waits). If a lock is
 * shared by processes, then its owner may count in another namespace, and the number may be one of
 * a thread here that has nothing to do with it. So such locks have no owner here, with two
 * exceptions. For FUTEX_LOCK_PI the kernel looks for the owner by the same number. And robust ones,
 * of which glibc does not say whether they are shared, are in a list of their owner, whose head the
 * kernel knows (set_robust_list(2)). */
#ifndef LABELSCOPE_BPF_LOCK_OWNER_BPF_H
#define LABELSCOPE_BPF_LOCK_OWNER_BPF_H

#include <linux/futex.h>

#include "bpf/programs/waiting_thread.bpf.h"

extern struct task_struct* bpf_task_from_vpid(int vpid) __ksym __weak;
extern void bpf_task_release(struct task_struct* task) __ksym __weak;

/* This is a bit of the kernel's task->__state: a signal can interrupt a thread that waits for a
 * futex. */
#define LS_STATE_INTERRUPTIBLE 0x01

/* The system call futex of programs with 64 bits. */
#if defined(__TARGET_ARCH_arm64)
#define LS_CALL_FUTEX 98
#else
#define LS_CALL_FUTEX 202
#endif

/* The arguments of the system call. */
struct ls_futex_call {
  __u64 address;
  __u32 operation;
  __u32 value;
  __u64 timeout; /* its address; 0: the thread waits for as long as it takes */
};

static __always_inline struct ls_futex_call ls_futex_call_of(struct task_struct* task) {
  const struct pt_regs___ls_futex* registers =
      (const struct pt_regs___ls_futex*)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
  struct ls_futex_call call = {.address = BPF_CORE_READ(registers, orig_x0),
                               .operation = (__u32)BPF_CORE_READ(registers, regs[1]),
                               .value = (__u32)BPF_CORE_READ(registers, regs[2]),
                               .timeout = BPF_CORE_READ(registers, regs[3])};
#else
  struct ls_futex_call call = {.address = registers->di,
                               .operation = (__u32)registers->si,
                               .value = (__u32)registers->dx,
                               .timeout = registers->r10};
#endif
  return call;
}

/* glibc's pthread_mutex_t. */
struct ls_mutex {
  __u32 lock;
  __u32 count;
  __u32 owner;
  __u32 users;
  __u32 kind;
  __u32 spins;
  __u64 list[2]; /* of robust ones: their neighbours in the thread's list */
};
#define LS_MUTEX_CONTENDED 2
#define LS_MUTEX_TYPE 3
#define LS_MUTEX_RECURSIVE 1
#define LS_MUTEX_ROBUST 16
#define LS_MUTEX_PRIO_INHERIT 32
#define LS_MUTEX_SHARED 128
#define LS_MUTEX_KINDS 0x3ff
/* It is the owner of a robust one whose former owner has ended, until the data are consistent. */
#define LS_MUTEX_INCONSISTENT 0x7ffffffe
/* Linux has at most so many threads. Each may use a mutex once: it holds it, or has left it to wait
 * for a condition. */
#define LS_MOST_THREADS (1 << 22)

/* glibc's pthread_rwlock_t, but for its end. */
struct ls_rwlock {
  __u32 readers;
  __u32 writers;
  __u32 phase;
  __u32 writing;
  __u32 pad[2];
  __u32 owner;
  __u32 shared;
};
#define LS_RWLOCK_WAITS 3
#define LS_RWLOCK_WRITE_PHASE 1
#define LS_RWLOCK_WRITE_LOCKED 2

/* The lock has an owner, but of a kind that does not show which process it is of. */
#define LS_OWNER_SHARED 0xffffffff
/* The lock is in a list of its owner. This bit is beside the number. */
#define LS_OWNER_LISTS 0x40000000
/* So many of a thread's robust locks are looked at. */
#define LS_MOST_LISTED 8

/* Returns whether the program says that other processes may use the word. */
static __always_inline _Bool ls_is_for_all(const struct ls_futex_call* call) {
  return (call->operation & FUTEX_PRIVATE_FLAG) == 0;
}

static __always_inline _Bool ls_waits_to_lock(__u32 operation) {
  __u32 command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

/* Returns the number in a word that the kernel defines. */
static __always_inline __u32 ls_owner_in_word(__u64 address) {
  __u32 word = 0;
  if (bpf_probe_read_user(&word, sizeof(word), (const void*)address)) return 0;
  return word & FUTEX_WAITERS ? word & FUTEX_TID_MASK : 0;
}

static __always_inline __u32 ls_owner_in_mutex(const struct ls_futex_call* call) {
  struct ls_mutex mutex;
  if (bpf_probe_read_user(&mutex, sizeof(mutex), (const void*)call->address)) return 0;
  const _Bool robust = mutex.kind & LS_MUTEX_ROBUST;
  const _Bool shared = mutex.kind & LS_MUTEX_SHARED;
  const _Bool recursive = (mutex.kind & LS_MUTEX_TYPE) == LS_MUTEX_RECURSIVE;
  if (mutex.lock != call->value || mutex.kind & ~(__u32)LS_MUTEX_KINDS ||
      mutex.kind & LS_MUTEX_PRIO_INHERIT || mutex.users == 0 || mutex.users > LS_MOST_THREADS)
    return 0;
  /* glibc lets robust ones wait as if they were shared, whether they are or not. */
  if (ls_is_for_all(call) != (robust || shared)) return 0;
  if (robust) {
    __u32 number = mutex.lock & FUTEX_TID_MASK;
    if (!(mutex.lock & FUTEX_WAITERS) || (mutex.lock & FUTEX_OWNER_DIED) || number == 0 ||
        (mutex.owner != number && mutex.owner != LS_MUTEX_INCONSISTENT))
      return 0;
    return number | LS_OWNER_LISTS;
  }
  if (mutex.lock != LS_MUTEX_CONTENDED || mutex.owner == 0 || mutex.list[0] || mutex.list[1] ||
      recursive != (mutex.count != 0))
    return 0;
  return shared ? LS_OWNER_SHARED : mutex.owner;
}

/* A reader waits for the end of the phase of writing, and so does a writer whose lock it will be
 * without another fight; the other writers have a word of their own. */
static __always_inline __u32 ls_owner_in_rwlock(const struct ls_futex_call* call) {
  struct ls_rwlock lock;
  const __u64 phase = call->address - __builtin_offsetof(struct ls_rwlock, phase);
  const __u64 writing = call->address - __builtin_offsetof(struct ls_rwlock, writing);
  if (bpf_probe_read_user(&lock, sizeof(lock), (const void*)phase)) return 0;
  _Bool fits = lock.phase == LS_RWLOCK_WAITS && lock.readers & LS_RWLOCK_WRITE_PHASE;
  if (!fits || lock.pad[0] || lock.pad[1]) {
    if (bpf_probe_read_user(&lock, sizeof(lock), (const void*)writing)) return 0;
    fits = lock.writing == LS_RWLOCK_WAITS;
  }
  if (!fits || lock.pad[0] || lock.pad[1] || !(lock.readers & LS_RWLOCK_WRITE_LOCKED) ||
      lock.owner == 0 || lock.shared > 1 || ls_is_for_all(call) != (lock.shared != 0))
    return 0;
  return lock.shared ? LS_OWNER_SHARED : lock.owner;
}

/* Returns the number of the owner, as its process counts, perhaps with LS_OWNER_LISTS; 0 if there
 * is none; or LS_OWNER_SHARED. */
static __always_inline __u32 ls_owner_number(const struct ls_futex_call* call) {
  __u32 command = call->operation & FUTEX_CMD_MASK;
  if (ls_waits_to_lock(call->operation)) return ls_owner_in_word(call->address);
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) return 0;
  if (call->value == LS_RWLOCK_WAITS) return ls_owner_in_rwlock(call);
  /* glibc locks a mutex by FUTEX_WAIT, or until some time by FUTEX_WAIT_BITSET. Rust's own mutex
   * has the same value, and waits by FUTEX_WAIT_BITSET, however long it takes. */
  if (command == FUTEX_WAIT_BITSET && call->timeout == 0) return 0;
  if (call->value == LS_MUTEX_CONTENDED || call->value & FUTEX_WAITERS)
    return ls_owner_in_mutex(call);
  return 0;
}

static __always_inline __u64 ls_robust_list(const struct task_struct* task) {
  const struct task_struct___ls_robust* plain = (const void*)task;
  const struct task_struct___ls_futex* parted = (const void*)task;
  if (bpf_core_field_exists(plain->robust_list)) return (__u64)BPF_CORE_READ(plain, robust_list);
  if (bpf_core_field_exists(parted->futex.robust_list))
    return (__u64)BPF_CORE_READ(parted, futex.robust_list);
  return 0;
}

/* Returns whether this mutex is among the robust ones in the list of a thread of the current
 * process. Each entry is in its mutex; its lowest bit means something else. */
static __always_inline _Bool ls_lists(__u64 head, __u64 mutex) {
  const __u64 wanted = mutex + __builtin_offsetof(struct ls_mutex, list[1]);
  __u64 entry = head;
  for (__u32 i = 0; i < LS_MOST_LISTED; i++) {
    if (entry == 0 || bpf_probe_read_user(&entry, sizeof(entry), (const void*)entry)) return 0;
    entry &= ~1ULL;
    if (entry == wanted) return 1;
  }
  return 0;
}

/* ---- the owner's labels */

/* Returns whether the labels of another thread can be read from here. Some ways to labels ask the
 * kernel about the current thread: which register it has, or whether it is the first one; or their
 * source does so. */
static __always_inline _Bool ls_can_read_others(const struct ls_recipes* recipes) {
  _Bool can = 1;
  for (__u32 i = 0; i < LS_MAX_PUBLISHERS; i++) {
    const struct ls_tls_recipe* recipe = &recipes->recipe[i];
    if (i >= recipes->count) break;
    can &= recipe->kind != LS_IN_REGISTER && recipe->kind != LS_FIRST_THREAD_AT_ADDRESS &&
           !LS_IS_SOURCE_OF(LS_CURRENT_SOURCES, recipe->source);
  }
  return can;
}

/* Returns the number of the labels that a thread has which runs now, on another processor, by their
 * memory, which is that of the current thread, too; or why they are unreadable. It may be changing
 * them, so they count only if they are the same when they are read again. */
static __always_inline __u64 ls_labels_of_running(__u64 pointer, struct ls_ids ids) {
  struct ls_slot slot = ls_slot_of(LS_PROGRAM_SWITCH);
  struct ls_scratch* own = ls_scratch_at(slot.index);
  struct ls_found_process found = ls_find_process(ids.pid);
  if (!own || !found.process || !ls_can_read_others(&found.process->recipes))
    return LS_UNREADABLE_STALE;
  ls_copy_process(own, &found);
  own->reading.x28 = 0;
#ifdef LS_THREAD_POINTER_LAGS
  if (ids.pid == ids.tid && !own->first_pointer_known) return LS_UNREADABLE_NO_THREAD_POINTER;
#endif
  ls_read_labels(slot.index, pointer);
  ls_reload();
  __u64 first = ls_number_at(slot.index, ids.pid, LS_CHOICE_OF_ALL);
  ls_read_labels(slot.index, pointer);
  ls_reload();
  if (ls_number_at(slot.index, ids.pid, LS_CHOICE_OF_ALL) != first) return LS_UNREADABLE_TORN;
  ls_name_labels(slot.index, ids.pid);
  ls_reload();
  return own->numbers.blame;
}

/* A thread that has left its processor so long ago has written all about it where others see it. */
#define LS_SETTLED_NS 1000

/* Returns the number of the labels that the owner had at the moment `now`, or why they are
 * unreadable. */
static __always_inline __u64 ls_labels_of_owner(struct task_struct* owner, __u64 now) {
  struct ls_ids ids = ls_ids_of_argument(owner);
  const struct ls_off_cpu* thread = ls_off_cpu_of(ids);
  if (thread) {
    /* It cannot change its labels while it is away. */
    __u64 left = *(const volatile __u64*)&thread->left_ns;
    __u64 labels = *(const volatile __u64*)&thread->blame_labels;
    if (left != 0 && left + LS_SETTLED_NS < now && labels != LS_LABELS_LATER) return labels;
  }
  return ls_labels_of_running(ls_thread_pointer(owner), ids);
}

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __type(key, struct ls_letting_go);
  __type(value, __u8);
  __uint(max_entries, 1);
} letting_go SEC(".maps");

#define LS_LOCK_AT(address) ((address) / 8)

static __always_inline _Bool ls_is_readable(__u64 labels) {
  return labels == LS_UNLABELLED || labels >= LS_FIRST_LABEL_NUMBER;
}

/* Says who holds the lock for which the current thread `task` is about to wait, if it waits for one
 * and its owner can be known. `pid` is its process, as labelscope counts. */
static __always_inline void ls_find_owner(struct ls_owner* found, struct task_struct* task,
                                          __u32 pid, __u64 now) {
  struct ls_blamed* who = &found->who;
  const struct ls_futex_call call = ls_futex_call_of(task);
  __u32 number = ls_owner_number(&call);
  if (number == 0) return;
  struct task_struct* owner =
      number == LS_OWNER_SHARED ? 0 : bpf_task_from_vpid((int)(number & ~LS_OWNER_LISTS));
  if (!owner) {
    ls_count_other(LS_COUNT_OWNERS_ELSEWHERE);
    return;
  }
  const _Bool ours = owner->tgid == task->tgid && owner->pid != task->pid &&
                     !(owner->flags & LS_TASK_EXITING) &&
                     (!(number & LS_OWNER_LISTS) || ls_lists(ls_robust_list(owner), call.address));
  __u64 labels = ours ? ls_labels_of_owner(owner, now) : LS_UNREADABLE_VANISHED;
  found->who_lets_go.tid = owner->pid;
  bpf_task_release(owner);
  if (!ours) {
    ls_count_other(LS_COUNT_OWNERS_ELSEWHERE);
    return;
  }
  /* It may have left the lock while its labels were read, and have others by now. */
  if (!ls_is_readable(labels) || ls_owner_number(&call) != number) {
    ls_count_other(LS_COUNT_OWNERS_UNREAD);
    return;
  }
  /* What the kernel itself understands needs no other proof. */
  if (!ls_waits_to_lock(call.operation)) found->who_lets_go.lock = LS_LOCK_AT(call.address);
  found->who_lets_go.pid = task->tgid;
  who->kind = LS_BLAME_OWNER;
  who->pid = pid;
  who->labels = labels;
}

#endif /* LABELSCOPE_BPF_LOCK_OWNER_BPF_H */
