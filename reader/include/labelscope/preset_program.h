/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* This is the program of a preset: how the labels of a stock server are read that publishes none.
 * PostgreSQL, for example, has an entry for each backend in shared memory, with the number of the
 * query; but the entry counts only if it is of this very process and is not being written.
 *
 *   &MyBEEntry --read--> entry   0: changecount       need: even
 *                                4: procpid           need: equal to MyProcPid
 *                              232: state
 *                              424: query id          a label, if state says "running"
 *
 * A preset (data, written by people) is compiled for one process: addresses of variables are
 * absolute, and what depends on a version of the server is decided. What remains is a row of steps,
 * which only reads, compares, and gives labels. It never goes back, so it ends. The process's
 * recipe (tls_recipe.h, LS_SOURCE_PRESET) names the program; preset_walk.h runs it, in BPF as well
 * as in the reader. All labels of a preset come from one run:
 *
 *   struct ls_preset_step steps[] = {
 *       {LS_PRESET_SET, 0, 0, 0, 0, 0x55d0c0de1000},               slot 0 = &MyBEEntry
 *       {LS_PRESET_READ, 0, 0, 8, 0, 0},                           slot 0 = its entry
 *       {LS_PRESET_UNLESS, 0, 0, LS_PRESET_NOT_EQUAL, 9, 0},       null: nothing to read
 *       {LS_PRESET_BLOCK, 0, 0, 0, 0, 432},                        block 0 = the whole entry
 *       {LS_PRESET_FIELD, 1, 0, 4, 4, 0},                          slot 1 = procpid
 *       {LS_PRESET_SET, 2, 0, 0, 0, 0x55d0c0de2000},               slot 2 = &MyProcPid
 *       {LS_PRESET_READ, 2, 2, 4, 0, 0},
 *       {LS_PRESET_NEED, 2, 1, LS_PRESET_EQUAL | LS_PRESET_WITH_SLOT, 0, 0},
 *       {LS_PRESET_FIELD, 3, 0, 4, 232, 0},                        slot 3 = state
 *       {LS_PRESET_UNLESS, 0, 3, LS_PRESET_EQUAL, 2, 2},           not running: no query
 *       {LS_PRESET_FIELD, 4, 0, 8, 424, 0},
 *       {LS_PRESET_EMIT, 0, 4, LS_VARIABLE_SIGNED, 8, 0},          label 0 = query id
 *   };
 *
 * How a run ends:
 *   - a NEED does not hold: LS_UNREADABLE_STALE. There are values, but not those of what runs now.
 *   - a read fails: LS_UNREADABLE_NOT_RESIDENT, also at address 0; an address that no process can
 *     have: LS_UNREADABLE_MALFORMED. So a pointer that may be null is tested before it is followed.
 *   - a label does not fit into LS_MAX_LABEL_BYTES: it is left out (LS_TRUNCATED_LABELS).
 *   - after the last step: labelled if there is a label, else unlabelled.
 * No label is kept unless the run comes to its last step. */
#ifndef LABELSCOPE_PRESET_PROGRAM_H
#define LABELSCOPE_PRESET_PROGRAM_H

#include "labelscope/variable_type.h"

#define LS_PRESET_STEPS 64        /* steps of one program */
#define LS_PRESET_SLOTS 32        /* numbers of 64 bits that steps work on; 0 at the start */
#define LS_PRESET_BLOCKS 4        /* pieces of memory that are read at once */
#define LS_PRESET_BLOCK_BYTES 512 /* size of the largest */
#define LS_PRESET_LABELS 16
#define LS_PRESET_NODES 8          /* nodes of a list that are searched at most */
#define LS_PRESET_NAME 16          /* bytes of a thread's name, with at least one NUL */
#define LS_PRESET_OFFSET (1 << 20) /* the largest offset, in either direction */

/* What a step does. "to", "from", "size", "offset" and "value" are its members; sums wrap around as
 * those of unsigned numbers do. */
enum ls_preset_op {
  /* slot[to] = value */
  LS_PRESET_SET = 1,
  /* slot[to] = thread pointer + value. If that is not known: LS_UNREADABLE_NO_THREAD_POINTER. */
  LS_PRESET_THREAD = 2,
  /* slot[to] = the address that the recipe leads to + value */
  LS_PRESET_LOCATED = 3,
  /* slot[to] = the thread's number, as it gets it itself from gettid(); 0 if that is not known */
  LS_PRESET_NUMBER = 4,
  /* slot[to] = slot[from] + value */
  LS_PRESET_ADD = 5,
  /* slot[to] = slot[from] + slot[value] */
  LS_PRESET_SUM = 6,
  /* slot[to] = the number of `size` bytes at address slot[from] + offset */
  LS_PRESET_READ = 7,
  /* block[to] = `value` bytes at address slot[from] + offset */
  LS_PRESET_BLOCK = 8,
  /* slot[to] = the number of `size` bytes in block[from] at offset; 0 if they were not read */
  LS_PRESET_FIELD = 9,
  /* slot[to] = the first node of a list with a number of 4 bytes at `offset` that is the lower half
   * of value; 0 if none of the first `size` nodes (1 to LS_PRESET_NODES) has it. The first node is
   * slot[from]; the address of the next is at offset (upper half of value), and null at the end. */
  LS_PRESET_FIND = 10,
  /* Unless the comparison holds, the next `offset` steps are skipped. */
  LS_PRESET_UNLESS = 11,
  /* Unless the comparison holds, the run ends: LS_UNREADABLE_STALE. */
  LS_PRESET_NEED = 12,
  /* Label number `to` is the number slot[from]. `size` is its kind: LS_VARIABLE_UNSIGNED, _SIGNED,
   * _FLOAT, _BOOL or _HEX; `offset` how many of its lower bytes count: 1, 2, 4 or 8 (_FLOAT: 4 or
   * 8, _BOOL: 1). */
  LS_PRESET_EMIT = 13,
  /* Label number `to` is at address slot[from] + offset. `size` is its kind: LS_VARIABLE_TEXT (up
   * to a NUL), LS_VARIABLE_ARRAY or _HEX (`value` bytes), LS_VARIABLE_SLICE (slot[value] bytes).
   * What is longer than LS_VARIABLE_MAX_BYTES is cut. */
  LS_PRESET_EMIT_TEXT = 14,
  /* Label number `to` are `value` bytes in block[from] at offset; no label if they were not read.
   * `size` is its kind: LS_VARIABLE_ARRAY or _HEX. */
  LS_PRESET_EMIT_FIELD = 15,
  /* Label number `to` is the thread's name, its comm, as the kernel knows it: LS_PRESET_NAME bytes,
   * up to a NUL. No label if it is not known. `size` is LS_VARIABLE_ARRAY. */
  LS_PRESET_EMIT_NAME = 16,
  LS_PRESET_OPS_END = 17
};

/* Bytes of a number: 1, 2, 4 or 8. With this flag the number is signed, and so is the slot. */
#define LS_PRESET_SIGNED 0x80

/* What UNLESS and NEED compare, their member `size`: slot[from] with value, or with the flag
 * LS_PRESET_WITH_SLOT, with slot[to]. */
enum ls_preset_comparison {
  LS_PRESET_EQUAL = 1,
  LS_PRESET_NOT_EQUAL = 2,
  LS_PRESET_GREATER = 3, /* numbers without a sign */
  LS_PRESET_LESS = 4,
  LS_PRESET_SIGNED_GREATER = 5,
  LS_PRESET_SIGNED_LESS = 6,
  LS_PRESET_ANY_BIT = 7, /* both have a bit that is 1 */
  LS_PRESET_NO_BIT = 8,  /* both have no such bit; with value 1: it is even */
  LS_PRESET_COMPARISONS_END = 9
};
#define LS_PRESET_WITH_SLOT 0x80

struct ls_preset_step {
  __u8 op; /* enum ls_preset_op */
  __u8 to;
  __u8 from;
  __u8 size;
  __s32 offset;
  __u64 value;
};

struct ls_preset_program {
  __u32 count; /* how many of `step` there are; the others are 0 */
  __u32 reserved;
  struct ls_preset_step step[LS_PRESET_STEPS];
};

/* The parameters of its recipe. */
struct ls_preset_recipe {
  /* number of the preset (PresetPlans in preset_plan.h); the key of its program in BPF maps */
  __u32 preset;
  __u32 reserved;
  __u64 unused[3];
};

/* A raw block (label_blocks.h) of a preset is this head, and then the labels one behind the other,
 * without a gap: their head, and `size` bytes. Kinds and bytes are those of variable_type.h. */
struct ls_preset_labels {
  __u32 preset; /* as in its recipe */
  __u32 count;  /* of labels */
};
struct ls_preset_label {
  __u8 number;  /* member `to` of the step that has emitted it */
  __u8 kind;    /* enum ls_variable_kind */
  __u8 size[2]; /* of its bytes, least significant byte first */
};

#ifdef __cplusplus
#define LS_PRESET_ASSERT(condition) static_assert(condition, #condition)
#else
#define LS_PRESET_ASSERT(condition) _Static_assert(condition, #condition)
#endif
LS_PRESET_ASSERT(sizeof(struct ls_preset_step) == 16);
LS_PRESET_ASSERT(sizeof(struct ls_preset_program) == 1032);
LS_PRESET_ASSERT(sizeof(struct ls_preset_recipe) == 32);
LS_PRESET_ASSERT(sizeof(struct ls_preset_labels) == 8);
LS_PRESET_ASSERT(sizeof(struct ls_preset_label) == 4);

#endif /* LABELSCOPE_PRESET_PROGRAM_H */
