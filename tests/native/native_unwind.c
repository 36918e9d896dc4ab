/* This is compiled once for each processor, with NATIVE_UNWIND as its function's name. */
#include "native_unwind.h"

#include "fake_bpf.h"

static const struct native_tables* given;

#define TABLE(type, function, member, count)                   \
  static __always_inline const type* function(__u32 number) {  \
    return number < given->count ? &given->member[number] : 0; \
  }
TABLE(struct ls_unwind_mapping, ls_unwind_mapping_at, mappings, mapping_count)
TABLE(struct ls_unwind_module, ls_unwind_module_at, modules, module_count)
TABLE(struct ls_unwind_page, ls_unwind_page_at, pages, page_count)
TABLE(struct ls_unwind_rule, ls_unwind_rule_at, rules, rule_count)

static __always_inline const __u32* ls_unwind_block_at(__u32 number) {
  return number < given->block_count ? given->rows + (__u64)number * LS_UNWIND_BLOCK_ROWS : 0;
}

#include "labelscope/bpf/read_user.bpf.h"
#include "unwind/unwind_step.h"

/* Goes to the caller. Where ls_step_plainly() can do that, too, it must come to the same place. */
static void step(const struct ls_memory* memory, struct ls_unwind* walk,
                 struct native_stack* stack) {
  struct ls_plain_place place = {.pc = walk->pc, .sp = walk->sp, .fp = walk->fp};
  const __u16 fp_frames = walk->fp_frames;
  const _Bool plain = walk->returned && !walk->fp_lost && !walk->sp_lost &&
                      ls_is_plain(&walk->rule) &&
                      ls_step_plainly(&walk->window, &walk->rule, walk->code_mask, &place);
  ls_unwind_apply(memory, walk);
  if (!plain) return;
  const _Bool same = walk->end == 0 && walk->pc == place.pc && walk->sp == place.sp &&
                     walk->fp == place.fp && walk->returned && !walk->fp_lost && !walk->sp_lost &&
                     walk->fp_frames == fp_frames;
  stack->plain_steps++;
#if !defined(__TARGET_ARCH_arm64)
  if (walk->rbx_at != LS_RBX_GONE) stack->plain_steps_wrong++;
#endif
  if (!same) stack->plain_steps_wrong++;
}

struct native_stack NATIVE_UNWIND(const struct native_tables* tables,
                                  const struct ls_unwind_process* process,
                                  const struct native_start* start) {
  struct ls_fault fault = {0, 0};
  struct ls_memory memory = {.fault = &fault};
  struct ls_unwind walk = {.pc = start->pc,
                           .sp = start->sp,
                           .fp = start->fp,
                           .code_mask = start->code_mask,
                           .process = *process};
  struct native_stack stack = {0};
  memcpy(walk.registers, start->registers, sizeof(walk.registers));
  given = tables;
  while (walk.end == 0) {
    if (stack.count == NATIVE_MAX_FRAMES) {
      walk.end = LS_STACK_TOO_DEEP;
      break;
    }
    if (!ls_unwind_locate(&walk) && stack.count != 0) break;
    stack.frames[stack.count++] = walk.pc;
    if (walk.end == 0 && ls_unwind_choose(&walk)) step(&memory, &walk, &stack);
  }
  stack.end = walk.end;
  stack.fp_frames = walk.fp_frames;
  return stack;
}
