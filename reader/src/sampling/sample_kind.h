/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* A sample is a thread, what it did at one moment, and the time that this moment stands for. Kind
 * and weight go together from the sampler to the last format:
 *
 *   kind           how a sample gets its weight
 *   on CPU         it stands for the time that its thread has run since its last sample, which the
 *                  kernel counts (cli/profile/time_accounts.h)
 *   runnable       it stands for one wait for a processor, and brings the length of the wait along
 *   waiting        likewise, for one wait for anything else
 *   uninterruptible  likewise, for one in which no signal wakes the thread (state D)
 *   whole time     like on CPU, but for the time that the thread has existed, whatever it did then
 *
 * This is plain C: the BPF programs send these numbers. */
#ifndef LABELSCOPE_SAMPLE_KIND_H
#define LABELSCOPE_SAMPLE_KIND_H

enum ls_sample_kind {
  LS_ON_CPU = 0,
  LS_RUNNABLE = 1,
  LS_WAITING = 2,
  LS_WHOLE_TIME = 3,
  LS_UNINTERRUPTIBLE = 4,
  LS_SAMPLE_KIND_COUNT = 5
};

/* These stand for the number of a system call where a thread waits in none. */
#define LS_CALL_NONE (-1)      /* preempted, or waiting in a page fault */
#define LS_CALL_STOPPED (-2)   /* by a signal or a tracer, wherever it was */
#define LS_CALL_FAULT (-3)     /* in a page fault, also while it is runnable behind that */
#define LS_CALL_THROTTLED (-4) /* its group or itself has used up its CPU time for now */
#define LS_CALL_FROZEN (-5)    /* its group is frozen */
/* This bit is in the numbers of 32-bit programs, whose system calls have other ones. */
#define LS_CALL_32_BIT 0x40000000

/* Waits are counted by their length: bucket b has those of 2^(b + 9) to 2^(b + 10) nanoseconds. The
 * first has all that are shorter, too, and the last all that are longer (9 minutes). */
#define LS_WAIT_BUCKETS 32
#define LS_WAIT_SHORTEST_LOG2 9

/* Returns the bucket of a length. */
static inline __attribute__((always_inline)) unsigned ls_wait_bucket(unsigned long long ns) {
  unsigned bucket = 0;
  ns >>= LS_WAIT_SHORTEST_LOG2 + 1;
  for (unsigned step = 32; step != 0; step /= 2) {
    if (ns >> step == 0) continue;
    ns >>= step;
    bucket += step;
  }
  bucket += ns != 0;
  return bucket < LS_WAIT_BUCKETS ? bucket : LS_WAIT_BUCKETS - 1;
}

#endif /* LABELSCOPE_SAMPLE_KIND_H */
