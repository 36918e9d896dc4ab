/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This takes the user's stack by call frame information (unwind/unwind_step.h). It has the maps
 * with the tables, which user space fills (unwind_tables.h, unwind_processes.h), the registers to
 * start from, and the loop.
 *
 * One frame is one call of a global function, which the verifier checks once. So a loop over 512
 * frames costs it 8,000 instructions; with an inlined function it would be 360,000.
 *
 * If the event came in user mode, it has the registers of user mode. Else the kernel has saved them
 * at the top of the task's kernel stack. Since 5.15 a helper returns their place; before, a program
 * that runs once at a system call learns its distance from the start of the stack (calibrate). */
#ifndef LABELSCOPE_BPF_UNWIND_BPF_H
#define LABELSCOPE_BPF_UNWIND_BPF_H

#include <linux/bpf_perf_event.h>

#include "bpf/programs/maps.bpf.h"
#include "bpf/programs/user_registers.bpf.h"
#include "bpf/wire/unwind_wire.h"
#include "labelscope/bpf/read_user.bpf.h"

/* An array in parts. User space makes a part when it needs it. */
#define LS_UNWIND_PARTS(name, bytes_of_value, values_of_part, most_parts) \
  struct name##_part {                                                    \
    __uint(type, BPF_MAP_TYPE_ARRAY);                                     \
    __uint(map_flags, BPF_F_MMAPABLE);                                    \
    __uint(key_size, sizeof(__u32));                                      \
    __uint(value_size, bytes_of_value);                                   \
    __uint(max_entries, values_of_part);                                  \
  };                                                                      \
  struct {                                                                \
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                             \
    __type(key, __u32);                                                   \
    __uint(max_entries, most_parts);                                      \
    __array(values, struct name##_part);                                  \
  } name SEC(".maps")

struct ls_unwind_block {
  __u32 rows[LS_UNWIND_BLOCK_ROWS];
};

LS_UNWIND_PARTS(unwind_mappings, sizeof(struct ls_unwind_mapping), LS_UNWIND_PART_MAPPINGS,
                LS_UNWIND_MAPPINGS_ROOM / LS_UNWIND_PART_MAPPINGS);
LS_UNWIND_PARTS(unwind_pages, sizeof(struct ls_unwind_page), LS_UNWIND_PART_PAGES,
                LS_UNWIND_MAX_PAGES / LS_UNWIND_PART_PAGES);
LS_UNWIND_PARTS(unwind_rules, sizeof(struct ls_unwind_rule), LS_UNWIND_PART_RULES,
                LS_UNWIND_RULES_ROOM / LS_UNWIND_PART_RULES);
LS_UNWIND_PARTS(unwind_blocks, sizeof(struct ls_unwind_block), LS_UNWIND_MAP_BLOCKS,
                LS_UNWIND_MAX_BLOCK_MAPS);

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct ls_unwind_module);
  __uint(max_entries, LS_UNWIND_MAX_MODULES);
} unwind_modules SEC(".maps");

/* The key is the pid as labelscope's own pid namespace counts. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_unwind_process);
  __uint(max_entries, 4096);
} unwind_processes SEC(".maps");

static __always_inline void ls_unwind_on_fork(__u32 parent, __u32 parent_life, __u32 child,
                                              __u32 child_life) {
  struct ls_unwind_process* process = bpf_map_lookup_elem(&unwind_processes, &parent);
  if (!process || process->life != parent_life) return;
  struct ls_unwind_process same = *process;
  same.life = child_life;
  bpf_map_update_elem(&unwind_processes, &child, &same, BPF_ANY);
}

static __always_inline void ls_unwind_on_exit(__u32 pid) {
  bpf_map_delete_elem(&unwind_processes, &pid);
}

static __always_inline const void* ls_unwind_value(void* outer, __u32 number, __u32 values) {
  __u32 part = number / values;
  __u32 in_part = number % values;
  void* map = bpf_map_lookup_elem(outer, &part);
  return map ? bpf_map_lookup_elem(map, &in_part) : 0;
}

static __always_inline const struct ls_unwind_mapping* ls_unwind_mapping_at(__u32 number) {
  return ls_unwind_value(&unwind_mappings, number, LS_UNWIND_PART_MAPPINGS);
}
static __always_inline const struct ls_unwind_module* ls_unwind_module_at(__u32 number) {
  return bpf_map_lookup_elem(&unwind_modules, &number);
}
static __always_inline const struct ls_unwind_page* ls_unwind_page_at(__u32 number) {
  return ls_unwind_value(&unwind_pages, number, LS_UNWIND_PART_PAGES);
}
static __always_inline const struct ls_unwind_rule* ls_unwind_rule_at(__u32 number) {
  return ls_unwind_value(&unwind_rules, number, LS_UNWIND_PART_RULES);
}
static __always_inline const __u32* ls_unwind_block_at(__u32 number) {
  const struct ls_unwind_block* block =
      ls_unwind_value(&unwind_blocks, number, LS_UNWIND_MAP_BLOCKS);
  return block ? block->rows : 0;
}

#include "unwind/unwind_step.h"

/* There is one for each slot (wire.h). */
struct ls_unwind_scratch {
  struct ls_unwind walk;
  __u64 mark; /* LS_FRAME_BY_FP if the walk has come here along a frame pointer, else 0 */
  struct ls_fault fault;
  bpf_user_pt_regs_t saved; /* as the kernel has saved them */
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_unwind_scratch);
  __uint(max_entries, 1);
} unwind_scratch SEC(".maps");

/* Entry 0 is what calibrate() has learned, or 0. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, 1);
} unwind_calibration SEC(".maps");

static __always_inline struct ls_unwind_scratch* ls_unwind_scratch_at(__u32 index) {
  return bpf_map_lookup_elem(&unwind_scratch, &index);
}

struct task_struct___ls_stack {
  void* stack;
} __attribute__((preserve_access_index));

static __always_inline __u64 ls_kernel_stack(void) {
  struct task_struct___ls_stack* task = (struct task_struct___ls_stack*)bpf_get_current_task();
  return (__u64)BPF_CORE_READ(task, stack);
}

/* This runs at each system call, as long as user space has it attached. The registers of a system
 * call are at the same place as those of every interrupt that comes in user mode. */
SEC("raw_tp/sys_enter")
int calibrate(struct bpf_raw_tracepoint_args* ctx) {
  __u32 zero = 0;
  __u64 distance = ctx->args[0] - ls_kernel_stack();
  bpf_map_update_elem(&unwind_calibration, &zero, &distance, BPF_ANY);
  return 0;
}

/* Returns where the kernel has saved the current task's registers of user mode, or 0 if that is not
 * known. */
static __always_inline __u64 ls_saved_registers(void) {
  if (ls_has_saved_registers()) return bpf_task_pt_regs(bpf_get_current_task_btf());
  __u32 zero = 0;
  __u64* distance = bpf_map_lookup_elem(&unwind_calibration, &zero);
  return distance && *distance ? ls_kernel_stack() + *distance : 0;
}

#if defined(__TARGET_ARCH_arm64)
static __always_inline void ls_take_registers(struct ls_unwind* w, const bpf_user_pt_regs_t* regs) {
#pragma unroll
  for (int i = 0; i < 31; i++) w->registers[i] = regs->regs[i];
  w->registers[LS_SP_REGISTER] = regs->sp;
  w->pc = regs->pc;
}
#else
static __always_inline void ls_take_registers(struct ls_unwind* w, const bpf_user_pt_regs_t* regs) {
  w->registers[0] = regs->rax;
  w->registers[1] = regs->rdx;
  w->registers[2] = regs->rcx;
  w->registers[3] = regs->rbx;
  w->registers[4] = regs->rsi;
  w->registers[5] = regs->rdi;
  w->registers[6] = regs->rbp;
  w->registers[7] = regs->rsp;
  w->registers[8] = regs->r8;
  w->registers[9] = regs->r9;
  w->registers[10] = regs->r10;
  w->registers[11] = regs->r11;
  w->registers[12] = regs->r12;
  w->registers[13] = regs->r13;
  w->registers[14] = regs->r14;
  w->registers[15] = regs->r15;
  w->pc = regs->rip;
}
#endif

/* Here and below, `registers` are as in ls_take_stack(). The verifier allows reads of a context at
 * fixed places only, so they are copied as a whole. */
static __always_inline _Bool ls_save_registers(const bpf_user_pt_regs_t* registers,
                                               bpf_user_pt_regs_t* out) {
  if (registers) {
    __builtin_memcpy(out, registers, sizeof(*out));
    if (LS_IS_USER(LS_MODE(out))) return 1;
  }
  const void* saved = (const void*)ls_saved_registers();
  if (!saved || bpf_probe_read_kernel(out, sizeof(*out), saved)) return 0;
  return LS_IS_USER(LS_MODE(out)); /* not a thread of the kernel */
}

/* Sets w->end if there is nothing to unwind. */
static __always_inline void ls_start_unwinding(const bpf_user_pt_regs_t* registers,
                                               struct ls_unwind_scratch* s,
                                               const struct ls_scratch* own) {
  struct ls_unwind* w = &s->walk;
  __u32 pid = own->sample.pid;
  const struct ls_unwind_process* process = bpf_map_lookup_elem(&unwind_processes, &pid);

  w->at.start = 0;
  w->at.end = 0;
  w->window.size = 0;
  w->process.count = 0;
  w->process.list = 0;
  if (process && process->life == own->life) w->process = *process;
  s->mark = 0;
  w->fp_frames = 0;
  w->returned = 0;
  w->fp_lost = 0;
  w->sp_lost = 0;
  w->rbx_at = 0;
  w->changed_stack = 0;
  w->left_out = 0;
  w->code_mask = config.code_mask;
  w->end = LS_STACK_MISSING;
  if (!ls_save_registers(registers, &s->saved)) return;
  w->end = LS_STACK_32_BIT;
  if (LS_IS_32_BIT(LS_MODE(&s->saved))) return;
  ls_take_registers(w, &s->saved);
  w->fp = w->registers[LS_FP_REGISTER];
  w->sp = w->registers[LS_SP_REGISTER];
  w->end = LS_STACK_NOT_WANTED; /* yet */
}

#if !defined(__TARGET_ARCH_arm64)
/* The kernel does itself what a call into the vsyscall page asks for. Until it is done, the thread
 * is at the start of a function there, which has no file and no frame: user mode is at its caller.
 */
static __always_inline void ls_leave_vsyscall(struct ls_unwind_scratch* s) {
  const struct ls_memory memory = {.fault = &s->fault};
  struct ls_unwind* w = &s->walk;
  __u64 pc = 0;

  if (w->pc - LS_VSYSCALL >= LS_VSYSCALL_SIZE) return;
  if (!ls_read_stack(&memory, w, &pc, sizeof(pc), w->sp)) return;
  w->sp += sizeof(pc);
  ls_go_to_caller(w, pc);
}
#endif

/* Most frames of a busy program are at few places, so the rules of the last places are kept: one
 * look instead of a search for the mapping and one for the row, which are half of a frame's time. A
 * rule stays right as long as its list of mappings has the same number, because a list and the
 * tables that it names never change (unwind_wire.h). */
#define LS_KEPT_RULES_BITS 9
#define LS_KEPT_RULES (1 << LS_KEPT_RULES_BITS)

struct ls_kept_rule {
  __u64 address;  /* where it was looked up */
  __u32 list;     /* for which list of mappings; 0 in an entry without a rule */
  __u32 is_plain; /* as ls_is_plain() says */
  struct ls_unwind_rule rule;
};
struct ls_kept_rules {
  struct ls_kept_rule rules[LS_KEPT_RULES];
};
/* There is one entry for each slot (wire.h). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_kept_rules);
  __uint(max_entries, 1);
} kept_rules SEC(".maps");

/* Returns the only place for the rule of `address`, which may have that of another one. */
static __always_inline struct ls_kept_rule* ls_place_of_rule(struct ls_kept_rules* kept,
                                                             __u64 address) {
  /* The multiplier is 2^64 divided by the golden ratio: neighbours get places far apart. */
  __u64 place = (address * 0x9e3779b97f4a7c15ULL) >> (64 - LS_KEPT_RULES_BITS);
  ls_keep_together(place);
  return &kept->rules[place & (LS_KEPT_RULES - 1)];
}

/* These are global functions, and each looks the walk up again, because in 5.10 an argument must be
 * a number. `index` is that of the slot. */
__attribute__((noinline)) int ls_locate_frame(__u32 index) {
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(index);
  return s && ls_unwind_locate(&s->walk);
}

__attribute__((noinline)) int ls_choose_rule(__u32 index) {
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(index);
  return s && ls_unwind_choose(&s->walk);
}

/* Sets the rule of the frame that the walk has come to. Returns whether its code is known, and
 * whether there is a rule. */
#define LS_PLACE_KNOWN 1
#define LS_RULE_CHOSEN 2
__attribute__((noinline)) int ls_find_rule(__u32 index) {
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(index);
  if (!s) return 0;
  struct ls_unwind* w = &s->walk;
  __u64 address = w->pc - w->returned;
  struct ls_kept_rules* all = bpf_map_lookup_elem(&kept_rules, &index);
  if (!all) return 0;
  struct ls_kept_rule* kept = ls_place_of_rule(all, address);
  if (w->process.count && kept->list == w->process.list && kept->address == address) {
    w->rule = kept->rule;
    return LS_PLACE_KNOWN | LS_RULE_CHOSEN;
  }
  if (!ls_locate_frame(index)) return 0;
  if (!ls_choose_rule(index)) return LS_PLACE_KNOWN;
  /* A step along frame pointers has to know in which mapping it is. */
  if (w->rule.cfa != LS_CFA_GAP_FP) {
    kept->address = address;
    kept->list = w->process.list;
    kept->rule = w->rule;
    kept->is_plain = ls_is_plain(&w->rule);
  }
  return LS_PLACE_KNOWN | LS_RULE_CHOSEN;
}

/* Adds callers as long as their rules are kept, plain, and lead to words in the window: so are most
 * frames of a deep stack. What changes from one to the next stays in registers. */
#define LS_PLAIN_FRAMES 16
__attribute__((noinline)) int ls_unwind_plain_frames(__u32 index) {
  struct ls_scratch* own = ls_scratch_at(index);
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(index);
  struct ls_kept_rules* all = bpf_map_lookup_elem(&kept_rules, &index);
  if (!own || !s || !all) return 0;
  struct ls_unwind* w = &s->walk;
  struct ls_plain_place place = {.pc = w->pc, .sp = w->sp, .fp = w->fp};
  const __u32 list = w->process.list;
  const __u64 before = own->sample.stack.user_frames;
  __u64 frames = before;

  if (!w->returned || w->fp_lost || w->sp_lost || w->process.count == 0) return 0;
  for (int i = 0; i < LS_PLAIN_FRAMES; i++) {
    const struct ls_kept_rule* kept = ls_place_of_rule(all, place.pc - 1);
    const __u64 pc = place.pc;
    if (kept->address != pc - 1 || kept->list != list || !kept->is_plain) break;
    __u64 at = own->reading.labels.head.size + 8 * frames;
    ls_keep_together(at);
    if (frames >= LS_MAX_USER_FRAMES ||
        at > LS_BLOCKS_LIMIT + (LS_MAX_USER_FRAMES - 1) * sizeof(__u64) ||
        !ls_step_plainly(&w->window, &kept->rule, w->code_mask, &place))
      break;
    *(__u64*)(own->reading.labels.blocks + at) = frames == before ? pc | s->mark : pc;
    frames++;
  }
  if (frames == before) return 0;
  own->sample.stack.user_frames = frames;
  s->mark = 0;
  w->pc = place.pc;
  w->sp = place.sp;
  w->fp = place.fp;
  w->rbx_at = LS_RBX_GONE;
  return 0;
}

/* Adds the frame that the walk has come to, and goes on to its caller. Returns true if this was the
 * last. */
__attribute__((noinline)) int ls_unwind_frame(__u32 index) {
  struct ls_scratch* own = ls_scratch_at(index);
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(index);
  if (!own || !s) return 1;
  struct ls_unwind* w = &s->walk;
  struct ls_memory memory = {.fault = &s->fault};
  __u32 frames = own->sample.stack.user_frames;
  if (frames >= LS_MAX_USER_FRAMES) return 1;
  int found = ls_find_rule(index);
  if (!(found & LS_PLACE_KNOWN) && frames != 0) return 1;
  _Bool chosen = (found & LS_RULE_CHOSEN) != 0;
  _Bool was_called = w->returned && !(chosen && ls_is_made_return(w));

  __u64 at = own->reading.labels.head.size + 8ULL * frames;
  ls_keep_together(at);
  if (at > LS_BLOCKS_LIMIT + (LS_MAX_USER_FRAMES - 1) * sizeof(__u64)) return 1;
  /* Consumers look one byte before a caller's address, but code that a signal has interrupted is no
   * caller. They take the first frame for interrupted code, which a caller of the kernel is not. */
  *(__u64*)(own->reading.labels.blocks + at) =
      (w->pc + (frames != 0 && !was_called) - (frames == 0 && was_called)) | s->mark;
  own->sample.stack.user_frames = frames + 1;
  __u16 before = w->fp_frames;
  if (chosen) ls_unwind_apply(&memory, w);
  s->mark = w->fp_frames != before ? LS_FRAME_BY_FP : 0;
  return w->end != LS_STACK_NOT_WANTED;
}

LS_ROUND ls_unwind_round(__u32 i, void* argument) {
  const __u32 index = *(const __u32*)argument;
  (void)i;
  ls_unwind_plain_frames(index);
  return ls_unwind_frame(index) != 0;
}

static __always_inline void ls_unwind_by_tables(const bpf_user_pt_regs_t* registers,
                                                struct ls_slot slot, struct ls_scratch* own) {
  struct ls_unwind_scratch* s = ls_unwind_scratch_at(slot.index);
  if (!s) return;
  ls_start_unwinding(registers, s, own);
#if !defined(__TARGET_ARCH_arm64)
  if (s->walk.end == LS_STACK_NOT_WANTED) ls_leave_vsyscall(s);
#endif
  if (s->walk.end == LS_STACK_NOT_WANTED) {
    __u32 index = slot.index;
    ls_each(LS_MAX_USER_FRAMES, ls_unwind_round, &index);
  }
  own->sample.stack.end = s->walk.end == LS_STACK_NOT_WANTED ? LS_STACK_TOO_DEEP : s->walk.end;
  own->sample.list = s->walk.process.list;
}

#endif /* LABELSCOPE_BPF_UNWIND_BPF_H */
