/* This is a walk up one stack by tables, for C++: the step's code is C, which is compiled for the
 * kernel, too. There is a walk for both processors, because a core file may be of the other one. */
#ifndef LABELSCOPE_UNWIND_WALK_H
#define LABELSCOPE_UNWIND_WALK_H

#include "unwind/stack.h"
#include "unwind/unwind_lists.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LS_WALK_MAX_FRAMES 512

/* The table of a file (UnwindTable). Without pages there is none. */
struct ls_walk_table {
  const struct ls_unwind_rows* pages;
  const __u32* rows;
  const struct ls_unwind_rule* rules;
  __u32 page_count;
  __u32 rule_count;
};

struct ls_stack_walk {
  const struct ls_unwind_mapping* mappings; /* sorted; `module` is an index of tables */
  const struct ls_walk_table* tables;
  __u32 mapping_count;
  __u32 table_count;
  /* returns 0 if it cannot be read */
  int (*read)(void* self, void* out, __u32 size, __u64 address);
  int (*late)(void* self); /* returns 1 if the time is over */
  void* self;
  __u64 code_mask; /* the bits of a return address that are not its signature (aarch64) */
  __u64 pc;        /* where to start; after the walk that of the last frame */
  __u64 registers[32];

  /* These are the result. */
  __u64 next;    /* what would have come after the last frame */
  __u64 mapping; /* where the mapping of the last frame starts */
  __u32 count;
  enum ls_stack_end end;
  __u64 frames[LS_WALK_MAX_FRAMES]; /* words with a kind */
};

/* These are not part of the C interface, in spite of their names. */
#pragma GCC visibility push(hidden)
void ls_walk_x86_64(struct ls_stack_walk* walk);
void ls_walk_aarch64(struct ls_stack_walk* walk);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LABELSCOPE_UNWIND_WALK_H */
