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
#define LS_CALL_NONE (-1)    /* after a page fault, or preempted */
#define LS_CALL_STOPPED (-2) /* by a signal or a tracer, wherever it was */
/* This bit is in the numbers of 32-bit programs, whose system calls have other ones. */
#define LS_CALL_32_BIT 0x40000000

/* Waits are counted by their length: bucket b has those of 2^(b + 9) to 2^(b + 10) nanoseconds. The
 * first has all that are shorter, too, and the last all that are longer (9 minutes). */
#define LS_WAIT_BUCKETS 32
#define LS_WAIT_SHORTEST_LOG2 9

#endif /* LABELSCOPE_SAMPLE_KIND_H */
