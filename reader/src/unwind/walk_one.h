/* This is the walk for one processor. walk_x86_64.c and walk_aarch64.c include it, and define the
 * processor and the name of the function (LS_WALK). It gives the step (unwind_step.h) its tables
 * and its memory. */
#include <string.h>

#include "unwind/walk.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define ls_keep_together(number) ((void)0) /* there is no verifier here */

struct ls_memory {
  struct ls_stack_walk* walk;
};

static __always_inline _Bool ls_read_user(const struct ls_memory* memory, void* out, __u32 size,
                                          __u64 address) {
  return memory->walk->read(memory->walk->self, out, size, address) != 0;
}

/* The step asks for everything by numbers, in the order of module, page and rule. So the numbers of
 * pages and rules are those of the module that was asked for last. */
static _Thread_local struct {
  const struct ls_stack_walk* walk;
  const struct ls_walk_table* table;
  struct ls_unwind_module module;
  struct ls_unwind_page page;
} now;

static const struct ls_unwind_mapping* ls_unwind_mapping_at(__u32 number) {
  return number < now.walk->mapping_count ? &now.walk->mappings[number] : 0;
}

static const struct ls_unwind_module* ls_unwind_module_at(__u32 number) {
  if (number >= now.walk->table_count || now.walk->tables[number].page_count == 0) return 0;
  now.table = &now.walk->tables[number];
  now.module.page_count = now.table->page_count;
  now.module.rule_count = now.table->rule_count;
  return &now.module;
}

static const struct ls_unwind_page* ls_unwind_page_at(__u32 number) {
  if (number >= now.table->page_count) return 0;
  now.page.block = number;
  now.page.count = (__u16)now.table->pages[number].count;
  return now.page.count != 0 ? &now.page : 0;
}

static const __u32* ls_unwind_block_at(__u32 number) {
  return now.table->rows + now.table->pages[number].first;
}

static const struct ls_unwind_rule* ls_unwind_rule_at(__u32 number) {
  return number < now.table->rule_count ? &now.table->rules[number] : 0;
}

#include "unwind/unwind_step.h"

/* Goes to the caller after a call through a bad pointer, which has only left its return address. */
static void ls_step_before_call(const struct ls_memory* memory, struct ls_unwind* w) {
#if defined(__TARGET_ARCH_arm64)
  (void)memory;
  ls_go_to_caller(w, w->registers[LS_LINK_REGISTER]);
#else
  __u64 pc = 0;
  if (!ls_read_stack(memory, w, &pc, sizeof(pc), w->sp)) return;
  w->sp += sizeof(pc);
  ls_go_to_caller(w, pc);
#endif
}

void LS_WALK(struct ls_stack_walk* walk) {
  const struct ls_memory memory = {walk};
  __u64 mark = 0;
  struct ls_unwind w;
  memset(&w, 0, sizeof(w));
  memcpy(w.registers, walk->registers, sizeof(w.registers));
  w.pc = walk->pc;
  w.sp = w.registers[LS_SP_REGISTER];
  w.fp = w.registers[LS_FP_REGISTER];
  w.code_mask = walk->code_mask;
  w.process.count = walk->mapping_count;
  now.walk = walk;
  walk->count = 0;
  while (w.end == LS_STACK_NOT_WANTED || (w.end == LS_STACK_BAD_RETURN && !w.returned)) {
    if (walk->count == LS_WALK_MAX_FRAMES) {
      w.end = LS_STACK_TOO_DEEP;
      break;
    }
    const _Bool known = w.end == LS_STACK_NOT_WANTED && ls_unwind_locate(&w);
    /* An address that leads nowhere was no return address; but an interrupted thread was really
     * there. */
    if (!known && w.returned) break;
    walk->pc = w.pc;
    const _Bool chosen = known && ls_unwind_choose(&w);
    const _Bool was_called = w.returned && !(chosen && ls_is_made_return(&w));
    __u64 place = w.pc + (walk->count != 0 && !was_called);
    /* In a core file a program counter may be anything, and so look like another kind of frame. */
    if (place >> LS_FRAME_KIND_SHIFT) place |= ~LS_FRAME_VALUE;
    walk->frames[walk->count] = place | mark;
    walk->count++;
    if (walk->late(walk->self)) {
      w.end = LS_STACK_OUT_OF_TIME;
      break;
    }
    if (!known) {
      w.end = LS_STACK_NOT_WANTED;
      ls_step_before_call(&memory, &w);
    } else if (chosen) {
      const __u16 before = w.fp_frames;
      ls_unwind_apply(&memory, &w);
      mark = w.fp_frames != before ? LS_FRAME_BY_FP : 0;
    }
    if (w.end == LS_STACK_NOT_RESIDENT && walk->late(walk->self)) w.end = LS_STACK_OUT_OF_TIME;
  }
  walk->next = w.pc;
  walk->mapping = w.at.start;
  walk->end = (enum ls_stack_end)w.end;
}
