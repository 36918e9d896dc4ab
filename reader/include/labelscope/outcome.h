/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* These are the outcomes of one observation of one thread. They are plain C: the BPF programs, the
 * reader and the recording file use the same numbers. outcome_name() in label.h has a word for
 * each.
 *
 * Absence is a value, not an error: labelled, unlabelled and unreadable (with a reason) stay three
 * different things up to the last line of output. */
#ifndef LABELSCOPE_OUTCOME_H
#define LABELSCOPE_OUTCOME_H

enum ls_outcome {
  /* At least one label was read. */
  LS_LABELLED = 0,
  /* The thread's pointer is null, its set is empty, or it never touched the variable. */
  LS_UNLABELLED = 1,
  /* In all of the following, there may be labels, but they could not be read. */
  LS_UNREADABLE_NO_RECIPE = 2, /* a publisher's variable cannot be located (the plan says why) */
  LS_UNREADABLE_NOT_RELOCATED = 3, /* the loader has not filled the publisher's slot yet */
  LS_UNREADABLE_NO_THREAD_POINTER = 4,
  LS_UNREADABLE_BAD_DTV = 5,      /* the thread's DTV could not be read */
  LS_UNREADABLE_NOT_RESIDENT = 6, /* a page is not in memory (or not mapped at all) */
  LS_UNREADABLE_MALFORMED = 7,    /* impossible lengths, counts or pointers */
  /* The thread ended, or never ran again, before the read was repeated. */
  LS_UNREADABLE_VANISHED = 8,
  LS_UNREADABLE_TORN = 9, /* the thread was writing its record */
  /* The thread has labels whose keys are numbers, and the process does not publish their names. */
  LS_UNREADABLE_NO_KEYS = 10,
  /* They were read, and lost with a part of the recording. No reader of memory gives this. */
  LS_UNREADABLE_LOST = 11,
  /* What is there is not of what runs now: a check of a preset does not hold (preset_program.h). */
  LS_UNREADABLE_STALE = 12,
  LS_OUTCOME_COUNT = 13
};

/* Properties of a sample that do not change its outcome. */
enum ls_sample_flag {
  LS_TRUNCATED_SLOTS = 1 << 0,  /* the storage array is longer than LS_MAX_SLOTS */
  LS_TRUNCATED_LABELS = 1 << 1, /* more than LS_MAX_LABELS labels */
  LS_TRUNCATED_BYTES = 1 << 2,  /* keys and values together exceed LS_MAX_LABEL_BYTES */
  LS_NULL_VALUE = 1 << 3,       /* a key whose value.buf is null: against the ABI, and not shown */
  LS_DUPLICATE_KEY = 1 << 4,    /* legal: the first of equal keys counts (OTEP 4947: the last) */
  LS_NEVER_TOUCHED = 1 << 5, /* unlabelled because the thread has no TLS block for the variable */
  LS_RETRIED = 1 << 6,       /* read a second time with page faults allowed */
  LS_PARTLY_UNREADABLE = 1 << 7, /* another publisher of the same process was unreadable */
  LS_KEY_CONFLICT = 1 << 8, /* two publishers set one key to different values; both are shown */
  LS_STACK_CUT = 1 << 9,    /* unwinding took too long for a thread that is held (--max-stop) */
  /* A label is left out, because the process does not publish the name of its key, which is a
   * number. */
  LS_UNKNOWN_KEY = 1 << 10,
  LS_INCOMPLETE_LABEL = 1 << 11, /* the last label of a record is longer than the record */
  /* The thread is unlabelled because it runs no goroutine now (Go's scheduler, a thread of C).
   * Labels of Go belong to goroutines, so there are none to read, and nothing has failed. */
  LS_NO_GOROUTINE = 1 << 12,
  /* When the recording ended, the thread waited, or had not returned to its program since. */
  LS_STILL_WAITING = 1 << 13,
  LS_SAMPLE_FLAGS_END /* one more than the last flag */
};
#define LS_WHY_UNLABELLED (LS_NEVER_TOUCHED | LS_NO_GOROUTINE)
#define LS_TRUNCATED (LS_TRUNCATED_SLOTS | LS_TRUNCATED_LABELS | LS_TRUNCATED_BYTES)

/* These are limits of one read, for each publisher. The fixed-buffer writer (10 labels, 128-byte
 * keys, 256-byte values: 3,840 bytes) and 64 short labels always arrive whole. */
#define LS_MAX_SLOTS 128        /* elements of the storage array that are read: one read of 4 KiB */
#define LS_MAX_LABELS 64        /* elements with a key */
#define LS_MAX_LABEL_BYTES 4096 /* keys and values together */
/* The limit for one process, with the variables that the user names. The labels of all fit into the
 * 32 KiB that the kernel has for one record of a task iterator. */
#define LS_MAX_PUBLISHERS 6

#endif /* LABELSCOPE_OUTCOME_H */
