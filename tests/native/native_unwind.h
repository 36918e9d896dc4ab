/* One walk up a stack by the kernel side's step (unwind/unwind_step.h), compiled for the host, over
 * tables that a test makes. There is one for each processor. */
#pragma once

#include "bpf/wire/unwind_wire.h"
#include "unwind/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct native_tables {
  const struct ls_unwind_mapping* mappings;
  const struct ls_unwind_module* modules;
  const struct ls_unwind_page* pages;
  const __u32* rows; /* blocks of LS_UNWIND_BLOCK_ROWS, one behind the other */
  const struct ls_unwind_rule* rules;
  __u32 mapping_count, module_count, page_count, block_count, rule_count;
};

#define NATIVE_MAX_FRAMES 512

struct native_start {
  __u64 pc, sp, fp, code_mask;
  __u64 registers[32];
};

struct native_stack {
  __u32 count;
  __u32 fp_frames;
  enum ls_stack_end end;
  __u32 plain_steps;       /* steps that ls_step_plainly() could take, too */
  __u32 plain_steps_wrong; /* of these, those that have led elsewhere */
  __u64 frames[NATIVE_MAX_FRAMES];
};

/* Reads memory through fake_probe_read_user() of fake_bpf.h. */
struct native_stack native_unwind_x86(const struct native_tables* tables,
                                      const struct ls_unwind_process* process,
                                      const struct native_start* start);
struct native_stack native_unwind_arm64(const struct native_tables* tables,
                                        const struct ls_unwind_process* process,
                                        const struct native_start* start);

#ifdef __cplusplus
}
#endif
