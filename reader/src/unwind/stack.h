/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* Every stack has frames and one end, in whatever way it was taken. The end is the root, or why the
 * stack does not reach it. This is plain C: the BPF programs send these numbers. */
#ifndef LABELSCOPE_STACK_H
#define LABELSCOPE_STACK_H

/* How stacks are taken. */
enum ls_call_graph {
  LS_CALL_GRAPH_NONE = 0,
  LS_CALL_GRAPH_FP = 1,   /* along frame pointers */
  LS_CALL_GRAPH_DWARF = 2 /* by call frame information */
};

/* A frame of the user's part is one word: what it is, and a value.
 *
 *    63     60 59                                         0
 *   +---------+--------------------------------------------+
 *   | kind    | value                                      |
 *   +---------+--------------------------------------------+
 *
 * No address of code in user mode has more than 57 bits. With LS_CALL_GRAPH_FP the words are what
 * the kernel has found along frame pointers, and a target may put anything there: they are
 * addresses as they are, and have no kind. */
enum ls_frame_kind {
  LS_FRAME_CODE = 0, /* the value is an address */
  /* Likewise. The frame was found along a frame pointer, or by following instructions from a place
   * that is only likely to be the start of a function, because the code that it called has no call
   * frame information. */
  LS_FRAME_CODE_BY_FP = 1,
  /* A function of a script, and where it is in that. Who took the stack knows what the value means:
   * it is no address of code, and belongs to no mapping. */
  LS_FRAME_SCRIPT = 2,
  LS_FRAME_KIND_COUNT
};
#define LS_FRAME_KIND_SHIFT 60
#define LS_FRAME_VALUE ((1ULL << LS_FRAME_KIND_SHIFT) - 1)
/* To be added to an address: LS_FRAME_CODE_BY_FP in place of LS_FRAME_CODE. */
#define LS_FRAME_BY_FP ((0ULL + LS_FRAME_CODE_BY_FP) << LS_FRAME_KIND_SHIFT)

/* X(enumerator, name, what such stacks do). The ledger counts an end as "stacks-" and its name. A
 * sentence at the end of a recording says "12.5 % " and what they do. */
#define LS_STACK_ENDS(X)                                                                       \
  X(LS_STACK_ROOT, "complete", "reach the start of their thread")                              \
  X(LS_STACK_ENTRY, "at-entry", "reach the first code of their program or thread")             \
  /* Frame pointers do not distinguish a start from code without them. The name of the last */ \
  /* function does (cli/record/stack_ends.h), and may turn this into LS_STACK_ROOT. */         \
  X(LS_STACK_CHAIN_ENDED, "without-start", "end at code without frame pointers")               \
  X(LS_STACK_TOO_DEEP, "too-deep", "have more frames than are kept")                           \
  X(LS_STACK_MISSING, "missing", "have no user part")                                          \
  X(LS_STACK_NO_WAY_ON, "incomplete", "end at code without call frame information")            \
  X(LS_STACK_OUT_OF_TIME, "cut-by-max-stop", "took longer than --max-stop")                    \
  X(LS_STACK_NO_MAPPING, "no-mapping", "lead into a file that was loaded a moment ago")        \
  X(LS_STACK_NO_TABLE, "no-table", "end in a file that has no table (yet)")                    \
  X(LS_STACK_UNSUPPORTED, "unsupported-rule", "end at call frame information of a rare kind")  \
  X(LS_STACK_NOT_RESIDENT, "not-resident", "end at a page of the stack that is not in memory") \
  X(LS_STACK_BAD_RETURN, "bad-return-address", "lead to what is no address of code")           \
  X(LS_STACK_NOT_GROWING, "not-growing", "would go back to where they came from")              \
  X(LS_STACK_32_BIT, "32-bit", "are of 32-bit code")                                           \
  X(LS_STACK_LEFT_OUT, "left-out", "leave out the caller of a function that changes stacks")

#define LS_STACK_END_ENUMERATOR(name, text, does) name,
enum ls_stack_end {
  LS_STACK_NOT_WANTED = 0, /* no stacks were wanted */
  LS_STACK_ENDS(LS_STACK_END_ENUMERATOR) LS_STACK_END_COUNT
};

#endif /* LABELSCOPE_STACK_H */
