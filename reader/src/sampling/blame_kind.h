/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* What made a thread wait: what woke it, or what had the processor that it waited for. This is
 * plain C: the BPF programs send these numbers. */
#ifndef LABELSCOPE_BLAME_KIND_H
#define LABELSCOPE_BLAME_KIND_H

enum ls_blame_kind {
  LS_BLAME_UNKNOWN = 0,
  LS_BLAME_THREAD = 1,    /* a thread of a recorded process, whose labels may be known */
  LS_BLAME_PROCESS = 2,   /* a process that is not recorded */
  LS_BLAME_TIMER = 3,     /* a timer of the kernel ran out */
  LS_BLAME_INTERRUPT = 4, /* any other interrupt: a device, or another processor */
  LS_BLAME_KERNEL = 5,    /* a thread of the kernel, or its idle task */
  /* The thread still waited when the recording ended. The kernel's programs do not use it. */
  LS_BLAME_NOBODY_YET = 6,
  LS_BLAME_OWNER = 7, /* a thread of the same process, which held the lock when the wait began */
  LS_BLAME_QUOTA =
      8, /* the thread's group or itself had used up its CPU time (LS_CALL_THROTTLED) */
  /* One of very many threads or processes, which are not kept apart. The kernel's programs do not
   * use it. */
  LS_BLAME_MANY = 9,
  LS_BLAME_KIND_COUNT = 10
};

#endif /* LABELSCOPE_BLAME_KIND_H */
