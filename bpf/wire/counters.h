/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One counter for each way in which a sample or an event can end. The kernel counts on each CPU.
 * The first LS_OUTCOME_COUNT counters are the outcomes: taken == their sum + retries pending. */
#ifndef LABELSCOPE_BPF_COUNTERS_H
#define LABELSCOPE_BPF_COUNTERS_H

#include "bpf/wire/wire.h"
#include "labelscope/outcome.h"

/* X(enumerator, name in the output). */
#define LS_NAMED_COUNTERS(X)                                                                       \
  X(LS_COUNT_TAKEN, "taken")                                                                       \
  X(LS_COUNT_TRUNCATED, "truncated")                                                               \
  X(LS_COUNT_FOREIGN, "of-other-processes")            /* returned at once, not taken */           \
  X(LS_COUNT_OTHER_NAMESPACE, "outside-pid-namespace") /* likewise */                              \
  X(LS_COUNT_NO_SCRATCH, "no-scratch")                 /* cannot happen; the verifier asks */      \
  X(LS_COUNT_DROPPED_SAMPLE, "dropped-samples")        /* ring buffer full */                      \
  X(LS_COUNT_DROPPED_LABELS, "dropped-label-reads")    /* their samples end as vanished */         \
  X(LS_COUNT_DROPPED_FORK, "dropped-forks")                                                        \
  X(LS_COUNT_DROPPED_EXEC, "dropped-execs")                                                        \
  X(LS_COUNT_DROPPED_EXIT, "dropped-exits")                                                        \
  X(LS_COUNT_LOST_THREAD_NS,                                                                       \
    "lost-thread-time-ns") /* of ended threads whose record was dropped */                         \
  X(LS_COUNT_USER_STACK_FAILED, "user-stack-failed")                                               \
  X(LS_COUNT_KERNEL_STACK_FAILED, "kernel-stack-failed")                                           \
  X(LS_COUNT_RETRY_SCHEDULED, "retries-scheduled")                                                 \
  X(LS_COUNT_RETRY_SENT, "retries-sent")                                                           \
  X(LS_COUNT_RETRY_UNSENT, "retries-of-dropped-samples")                                           \
  X(LS_COUNT_RETRY_BUSY, "retries-refused-pending") /* one is under way for this thread */         \
  X(LS_COUNT_RETRY_TABLE_FULL, "retries-refused-table-full")                                       \
  X(LS_COUNT_RETRY_REFUSED, "retries-refused-by-kernel")                                           \
  X(LS_COUNT_RETRY_EXITING, "retries-refused-exiting") /* the thread never runs user code again */ \
  X(LS_COUNT_RETRY_NO_SCRATCH, "retries-without-scratch")                                          \
  X(LS_COUNT_CHILD_NOT_FOLLOWED, "children-not-followed") /* the map of processes is full */

#define LS_COUNTER_ENUMERATOR(name, text) name,
enum ls_counter {
  LS_COUNT_OUTCOMES_END = LS_OUTCOME_COUNT - 1,
  LS_NAMED_COUNTERS(LS_COUNTER_ENUMERATOR) LS_COUNTER_COUNT
};

/* The per-CPU map has an entry for each program that takes samples (enum ls_sampling_program), and
 * one for all others. A program that takes samples is neither interrupted by itself nor moved to
 * another CPU, so it adds plainly. The others may be interrupted by each other, or moved, and add
 * atomically. */
enum { LS_COUNTERS_OTHERS = LS_SAMPLING_PROGRAMS, LS_COUNTERS_ENTRIES = LS_COUNTERS_OTHERS + 1 };

struct ls_counters {
  unsigned long long value[LS_COUNTER_COUNT];
};

#endif /* LABELSCOPE_BPF_COUNTERS_H */
