/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* There is one counter for each way in which a sample or an event can end. The kernel counts on
 * each CPU. The first LS_OUTCOME_COUNT counters are the outcomes: taken == their sum + retries
 * pending. */
#ifndef LABELSCOPE_BPF_COUNTERS_H
#define LABELSCOPE_BPF_COUNTERS_H

#include "bpf/wire/wire.h"
#include "labelscope/outcome.h"

/* The list has X(enumerator, enum class Counter of sampling/counters.h). */
#define LS_NAMED_COUNTERS(X)                                                                       \
  X(LS_COUNT_FOREIGN, kOfOtherProcesses)            /* returned at once, not taken */              \
  X(LS_COUNT_OTHER_NAMESPACE, kOutsidePidNamespace) /* the same */                                 \
  X(LS_COUNT_NO_SCRATCH, kNoScratch) /* cannot happen, but the verifier requires the check */      \
  X(LS_COUNT_DROPPED_LABELS, kDroppedLabelReads) /* their samples end as vanished */               \
  X(LS_COUNT_DROPPED_FORK, kDroppedForks)                                                          \
  X(LS_COUNT_DROPPED_EXEC, kDroppedExecs)                                                          \
  X(LS_COUNT_DROPPED_EXIT, kDroppedExits)                                                          \
  X(LS_COUNT_USER_STACK_FAILED, kUserStackFailed)                                                  \
  X(LS_COUNT_KERNEL_STACK_FAILED, kKernelStackFailed)                                              \
  X(LS_COUNT_RETRY_SCHEDULED, kRetriesScheduled)                                                   \
  X(LS_COUNT_RETRY_SENT, kRetriesSent)                                                             \
  X(LS_COUNT_RETRY_UNSENT, kRetriesOfDroppedSamples)                                               \
  X(LS_COUNT_RETRY_BUSY, kRetriesRefusedPending) /* one is in progress for this thread */          \
  X(LS_COUNT_RETRY_TABLE_FULL, kRetriesRefusedTableFull)                                           \
  X(LS_COUNT_RETRY_REFUSED, kRetriesRefusedByKernel)                                               \
  X(LS_COUNT_RETRY_EXITING, kRetriesRefusedExiting)    /* the thread never runs user code again */ \
  X(LS_COUNT_RETRY_NO_SCRATCH, kRetriesWithoutScratch) /* answered all the same, as vanished */    \
  X(LS_COUNT_WAITS_WITHOUT_ROOM, kWaitsWithoutRoom)    /* the map of threads is full */            \
  X(LS_COUNT_WAITS_REFUSED, kWaitsRefused) /* the kernel did not schedule the sample */            \
  X(LS_COUNT_WAITS_WITHOUT_SCRATCH, kWaitsWithoutScratch)                                          \
  X(LS_COUNT_WAITS_OF_ENDED, kWaitsOfEnded) /* the thread never came back to user mode */          \
  X(LS_COUNT_WAITS_WITHOUT_TOTAL, kWaitsWithoutTotal)   /* the map of totals is full */            \
  X(LS_COUNT_WAKEUPS_NOT_SEEN, kWakeupsNotSeen)         /* the wait seems longer */                \
  X(LS_COUNT_SWITCHES_NOT_SEEN, kSwitchesNotSeen)       /* the CPU time says when they were */     \
  X(LS_COUNT_DROPPED_THREAD_WAITS, kDroppedThreadWaits) /* these threads have no account */        \
  X(LS_COUNT_DROPPED_LABEL_SETS, kDroppedLabelSets)     /* another record of them follows */       \
  X(LS_COUNT_BLAME_WITHOUT_ROOM, kBlameWithoutRoom)     /* the map of totals is full */            \
  X(LS_COUNT_OWNERS_FOUND, kBlameOwners)                /* of locks, by their own words */         \
  X(LS_COUNT_OWNERS_ELSEWHERE, kBlameOwnersElsewhere)   /* they are no threads of theirs */        \
  X(LS_COUNT_OWNERS_UNREAD, kBlameOwnersUnread)         /* their labels cannot be read */          \
  X(LS_COUNT_CHILD_NOT_FOLLOWED, kChildrenNotFollowed)  /* the map of processes is full */

#define LS_COUNTER_ENUMERATOR(name, counter) name,
enum ls_counter {
  LS_COUNT_OUTCOMES_END = LS_OUTCOME_COUNT - 1,
  /* These counters have places of their own in the ledger. */
  LS_COUNT_TAKEN,
  LS_COUNT_TRUNCATED,
  LS_COUNT_DROPPED_SAMPLE, /* the ring buffer was full */
  LS_COUNT_LOST_THREAD_NS, /* the time that of ended threads whose record was dropped */
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
