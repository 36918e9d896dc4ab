/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A step goes from a frame to its caller, by the tables of unwind_table/unwind_rules.h.
 *
 *   pc --> mapping --> module, page --> row --> rule --> CFA --> return address, frame pointer
 *                                                          \--> stack pointer of the caller
 *
 * A step has three parts: ls_unwind_locate(), ls_unwind_choose(), ls_unwind_apply(). Each is a
 * function of its own for the verifier, which would otherwise follow every way through one with
 * every way through the next.
 *
 * The step is compiled for the kernel (bpf/programs/unwind.bpf.h) and for the host (walk_one.h). A
 * file that includes this must define before where target memory is, as
 * labelscope/bpf/read_user.bpf.h does (struct ls_memory, ls_read_user(), ls_keep_together()), and
 * where tables are: ls_unwind_mapping_at(), ls_unwind_module_at(), ls_unwind_page_at(),
 * ls_unwind_block_at(), ls_unwind_rule_at(). Each takes a number and returns null if there is no
 * such entry; a block has LS_UNWIND_BLOCK_ROWS rows, or all that its pages refer to.
 *
 * Which address is looked up. For interrupted code it is its own. A return address is where the
 * caller goes on, and a call may be the last instruction of its function. So the caller is looked
 * up one byte before. Code that a signal has interrupted has not called: it is looked up by its own
 * address again.
 *
 * The verifier follows every combination of what branches have decided. So searches have no
 * branches: they have a fixed number of steps, and comparisons are arithmetic with signs. clang
 * turns such arithmetic back into branches unless it cannot see where a number comes from
 * (ls_keep_together), and 5.10 requires a mask on an index right before its use. */
#ifndef LABELSCOPE_UNWIND_STEP_H
#define LABELSCOPE_UNWIND_STEP_H

#include "labelscope/label_blocks.h" /* LS_ASSERT */
#include "unwind/stack.h"
#include "unwind/stack_window.h"
#include "unwind/unwind_lists.h"

/* Registers have DWARF numbers. On x86-64 they are r0 to r15, on aarch64 x0 to x30 and sp. */
#define LS_UNWIND_REGISTERS 32
#if defined(__TARGET_ARCH_arm64)
#define LS_FP_REGISTER 29
#define LS_SP_REGISTER 31
#define LS_LINK_REGISTER 30
#else
#define LS_RBX_REGISTER 3
#define LS_FP_REGISTER 6
#define LS_SP_REGISTER 7
#endif

/* The steps of both searches: in up to 16,384 mappings or rows. */
#define LS_UNWIND_SEARCH_STEPS 14
LS_ASSERT(LS_UNWIND_BLOCK_ROWS == 1 << LS_UNWIND_SEARCH_STEPS);
LS_ASSERT(LS_UNWIND_MAX_MAPPINGS < 1 << LS_UNWIND_SEARCH_STEPS);

#ifdef __bpf__
#define LS_UNROLL _Pragma("unroll")
#else
#define LS_UNROLL
#endif

#define LS_RBX_GONE 1

/* User addresses of both processors have at most 57 bits, and nothing is in the first page. */
#define LS_CODE_BITS 57
#define LS_FIRST_CODE 4096

struct ls_unwind {
  __u64 pc;
  __u64 sp;
  __u64 fp;
  /* x86-64: where rbx is saved; 0 if it is in its register, LS_RBX_GONE if that is not known */
  __u64 rbx_at;
  __u64 code_mask; /* aarch64: the bits of a return address that are not its signature */
  struct ls_unwind_mapping at; /* the mapping that pc was in last */
  struct ls_unwind_rule rule;  /* the rule for pc */
  struct ls_unwind_process process;
  __u16 fp_frames; /* frames that were found along frame pointers, or only likely */
  __u8 end;        /* enum ls_stack_end; 0 if the stack goes on */
  __u8 returned;   /* 1 if pc is a return address */
  __u8 fp_lost;    /* 1 if fp is not known */
  __u8 sp_lost;    /* 1 if sp is not known (aarch64, after a frame without a table) */
  /* 1 after one step backwards along frame pointers, as Go does for its scheduler */
  __u8 changed_stack;
  __u8 left_out; /* 1 if a frame is missing: whatever the stack reaches, it is not whole */
  /* those of interrupted code, valid while pc is no return address */
  __u64 registers[LS_UNWIND_REGISTERS];
  struct ls_stack_window window;
};

/* Returns -1 if `left` is less than `right`, else 0. Both must be below 2^63. */
static __always_inline __s64 ls_less(__u64 left, __u64 right) {
  __s64 difference = (__s64)(left - right);
  ls_keep_together(difference);
  difference >>= 63;
  ls_keep_together(difference); /* else a mask with its complement becomes a branch */
  return difference;
}

/* Sets w->at to the last of the process's mappings that starts at or before `address`. */
static __always_inline _Bool ls_find_mapping(struct ls_unwind* w, __u64 address) {
  const struct ls_unwind_mapping* found;
  __u64 low = 0;

  if (address - w->at.start < w->at.end - w->at.start) return 1;
  LS_UNROLL
  for (int i = 0; i < LS_UNWIND_SEARCH_STEPS; i++) {
    __u64 bit = (1U << (LS_UNWIND_SEARCH_STEPS - 1)) >> i;
    __u64 probe = low | bit;
    __u64 within = (__u64)ls_less(probe, w->process.count);
    found = ls_unwind_mapping_at(w->process.first + (__u32)(probe & within));
    if (!found) return 0;
    low |= bit & within & ~(__u64)ls_less(address, found->start);
  }
  found = ls_unwind_mapping_at(w->process.first + (__u32)low);
  if (!found || found->list != w->process.list || w->process.count == 0) return 0;
  w->at = *found;
  return address - w->at.start < w->at.end - w->at.start;
}

/* Returns the number of the rule for the place `offset` bytes into a page. */
static __always_inline __u32 ls_find_row(const __u32* rows, const struct ls_unwind_page* page,
                                         __u64 offset) {
  __u64 first = page->first;
  __u64 count = page->count;
  __u64 low = 0;
  __u64 index;

  LS_UNROLL
  for (int i = 0; i < LS_UNWIND_SEARCH_STEPS; i++) {
    __u64 bit = (1U << (LS_UNWIND_SEARCH_STEPS - 1)) >> i;
    __u64 probe = low | bit;
    __u64 within = (__u64)ls_less(probe, count);
    index = first + (probe & within);
    ls_keep_together(index);
    index &= LS_UNWIND_BLOCK_ROWS - 1;
    low |= bit & within & ~(__u64)ls_less(offset, LS_UNWIND_ROW_OFFSET(rows[index]));
  }
  index = first + low;
  ls_keep_together(index);
  return LS_UNWIND_ROW_RULE(rows[index & (LS_UNWIND_BLOCK_ROWS - 1)]);
}

/* Sets w->rule to the rule for the code at w->pc, whose mapping is known. Returns 0 if there is
 * none, with the reason in w->end. */
static __always_inline _Bool ls_unwind_choose(struct ls_unwind* w) {
  const struct ls_unwind_module* module;
  const struct ls_unwind_page* page;
  const struct ls_unwind_rule* rule;
  const __u32* rows;
  __u64 offset = w->pc - w->returned - w->at.text;
  __u32 number;

  if (w->at.module == LS_UNWIND_NO_FILE) {
    w->rule.cfa = LS_CFA_GAP_FP;
    w->rule.operand = 0;
    return 1;
  }
  w->end = LS_STACK_NO_TABLE;
  module = ls_unwind_module_at(w->at.module);
  if (!module) return 0;
  if (offset >> LS_UNWIND_PAGE_BITS >= module->page_count) {
    w->end = LS_STACK_NO_WAY_ON;
    return 0;
  }
  page = ls_unwind_page_at(module->first_page + (__u32)(offset >> LS_UNWIND_PAGE_BITS));
  if (!page) return 0;
  rows = ls_unwind_block_at(page->block);
  if (!rows) return 0;
  number = ls_find_row(rows, page, offset & ((1 << LS_UNWIND_PAGE_BITS) - 1));
  /* Another module may just have taken the place of this one. */
  if (number >= module->rule_count) return 0;
  rule = ls_unwind_rule_at(module->first_rule + number);
  if (!rule) return 0;
  w->rule = *rule;
  w->end = LS_STACK_NOT_WANTED;
  return 1;
}

/* Reads one word or two. */
static __always_inline _Bool ls_read_stack(const struct ls_memory* memory, struct ls_unwind* w,
                                           __u64* out, __u32 size, __u64 address) {
  if (ls_read_words(memory, &w->window, out, size, address)) return 1;
  w->end = LS_STACK_NOT_RESIDENT;
  return 0;
}

/* Goes to the caller at `pc`, if that can be an address of code. */
static __always_inline void ls_go_to_caller(struct ls_unwind* w, __u64 pc) {
#if defined(__TARGET_ARCH_arm64)
  pc &= w->code_mask;
#endif
  w->pc = pc;
  w->returned = 1;
  if (pc < LS_FIRST_CODE || pc >> LS_CODE_BITS) w->end = LS_STACK_BAD_RETURN;
}

/* What the kernel has put onto the stack when a signal interrupted code, so far from the stack
 * pointer of the return from the handler (arch/x86/include/uapi/asm/sigcontext.h,
 * arch/arm64/include/uapi/asm/sigcontext.h). */
#if defined(__TARGET_ARCH_arm64)
#define LS_INTERRUPTED_AT (128 + 184) /* uc_mcontext.regs behind siginfo_t */
struct ls_interrupted {
  __u64 x[31];
  __u64 sp;
  __u64 pc;
  __u64 pstate;
};
#else
#define LS_INTERRUPTED_AT 40 /* behind flags, link and stack of the ucontext_t */
struct ls_interrupted {
  __u64 r8_15[8];
  __u64 di, si, bp, bx, dx, ax, cx, sp, ip;
  __u64 flags;
  __u64 segments; /* cs in the lowest 16 bits */
};
#endif

/* Takes the registers. Returns 0 if that is something else: the flags of user mode have fixed bits,
 * and only 32 of them. */
static __always_inline _Bool ls_take_interrupted(struct ls_unwind* w,
                                                 const struct ls_interrupted* saved) {
#if defined(__TARGET_ARCH_arm64)
  if (saved->pstate >> 32 || (saved->pstate & 0xf)) return 0;
  __builtin_memcpy(w->registers, saved->x, sizeof(saved->x));
  w->fp = saved->x[29];
  w->sp = saved->sp;
  w->pc = saved->pc;
#else
  if (saved->flags >> 32 || (saved->segments & 3) != 3) return 0;
  w->registers[0] = saved->ax;
  w->registers[1] = saved->dx;
  w->registers[2] = saved->cx;
  w->registers[3] = saved->bx;
  w->registers[4] = saved->si;
  w->registers[5] = saved->di;
  w->registers[6] = saved->bp;
  w->registers[7] = saved->sp;
  __builtin_memcpy(w->registers + 8, saved->r8_15, sizeof(saved->r8_15));
  w->fp = saved->bp;
  w->sp = saved->sp;
  w->pc = saved->ip;
#endif
  return 1;
}

/* Goes to the code that a signal has interrupted. While the kernel takes the registers back, a
 * sample may find the stack pointer of the interrupted code with the pc of the return from the
 * handler. Then other data is in place of the registers. */
static __always_inline void ls_step_to_interrupted(const struct ls_memory* memory,
                                                   struct ls_unwind* w) {
  struct ls_interrupted saved;

  if (!ls_read_user(memory, &saved, sizeof(saved), w->sp + LS_INTERRUPTED_AT)) {
    w->end = LS_STACK_NOT_RESIDENT;
    return;
  }
  if (!ls_take_interrupted(w, &saved)) {
    w->end = LS_STACK_BAD_RETURN;
    return;
  }
  w->returned = 0;
  w->rbx_at = 0;
  w->fp_lost = 0;
  w->sp_lost = 0;
  if (w->pc < LS_FIRST_CODE || w->pc >> LS_CODE_BITS) w->end = LS_STACK_BAD_RETURN;
}

/* Handles interrupted code that keeps frame pointers, but has not saved its own yet, or no longer
 * has it: the chain would leave out the caller. The bytes at pc show that. Returns 0 if they are
 * not of that kind. */
static __always_inline _Bool ls_step_at_prologue(const struct ls_memory* memory,
                                                 struct ls_unwind* w) {
  __u64 pair[2] = {};
  __u32 code = 0;

  if (w->returned || !ls_read_user(memory, &code, sizeof(code), w->pc)) return 0;
#if defined(__TARGET_ARCH_arm64)
  if (code == 0xd65f03c0 ||                /* ret */
      code == 0xd503233f ||                /* paciasp */
      (code & 0xffc07fff) == 0xa9807bfd) { /* stp x29, x30, [sp, #-n]! */
    ls_go_to_caller(w, w->registers[LS_LINK_REGISTER]);
    return 1;
  }
  if (code != 0x910003fd) return 0; /* mov x29, sp */
  if (!ls_read_stack(memory, w, pair, sizeof(pair), w->sp)) return 1;
  w->sp_lost = 1;
#else
  const _Bool pushes = (code & 0xff) == 0x55 || code == 0xfa1e0ff3; /* push %rbp; endbr64 */
  const _Bool pops = (code & 0xff) == 0xc2;                  /* ret n */
  const _Bool prefixed = (code & 0xfffe) == 0xc3f2;             /* bnd ret, rep ret */
  if (pushes || pops || prefixed || (code & 0xff) == 0xc3) {    /* ret */
    if (!ls_read_stack(memory, w, &pair[1], sizeof(pair[1]), w->sp)) return 1;
    w->sp += 8 + (pops ? code >> 8 & 0xffff : 0);
    ls_go_to_caller(w, pair[1]);
    return 1;
  }
  if ((code & 0xffffff) != 0xe58948 && (code & 0xffffff) != 0xec8b48) return 0; /* mov %rsp, %rbp */
  if (!ls_read_stack(memory, w, pair, sizeof(pair), w->sp)) return 1;
#endif
  w->sp += 16;
  w->fp = pair[0];
  ls_go_to_caller(w, pair[1]);
  return 1;
}

/* Code that is about to return shows in its bytes where its return address is, whether it keeps a
 * frame pointer or not. Such is all of the code that CPython puts between a function of Python and
 * its caller for profilers, a copy for each function (Python/asm_trampoline.S):
 *
 *     sub $8, %rsp; call *%rcx; add $8, %rsp; ret        stp x29, x30, [sp, #-16]!; mov x29, sp;
 *                                                        blr x3; ldp x29, x30, [sp], #16; ret
 *
 * Returns 0 if the bytes at pc are not of that kind. */
static __always_inline _Bool ls_step_to_return(const struct ls_memory* memory,
                                               struct ls_unwind* w) {
  __u64 pair[2] = {};
  __u64 code = 0;
  __u64 at = w->sp;

  if (!ls_read_user(memory, &code, sizeof(code), w->pc)) return 0;
#if defined(__TARGET_ARCH_arm64)
  /* ldp x29, x30, [sp], #n; ret */
  if ((code & 0xffffffffffe07fff) != 0xd65f03c0a8c07bfd) return 0;
  if (w->sp_lost) {
    if (w->fp_lost) return 0;
    at = w->fp; /* where the two words are that are loaded */
  }
  if (!ls_read_stack(memory, w, pair, sizeof(pair), at)) return 1;
  w->fp = pair[0];
  w->fp_lost = 0;
  w->sp = at + ((code >> 15 & 0x3f) << 3);
  w->sp_lost = 0;
#else
  __u64 rest = code;
  __u64 reserved = 0;

  if (!w->returned) {
    if ((code & 0xf8ff80ffffff) == 0xd0ff00ec8348) { /* sub $n, %rsp; call *register */
      if (!ls_read_user(memory, &rest, sizeof(rest), w->pc + 6)) return 0;
      if ((rest >> 24 & 0xff) != (code >> 24 & 0xff)) return 0;
      reserved = code >> 24 & 0xff;
    } else if ((code & 0xf8ff) == 0xd0ff) { /* call *register */
      rest >>= 16;
    }
  }
  if ((code & 0xffff) == 0xc35d) { /* pop %rbp; ret */
    if (!ls_read_stack(memory, w, pair, sizeof(pair), at)) return 1;
    w->fp = pair[0];
    w->fp_lost = 0;
    w->sp = at + 16;
    ls_go_to_caller(w, pair[1]);
    return 1;
  }
  if ((rest & 0xff80ffffff) != 0xc300c48348) return 0; /* add $n, %rsp; ret */
  at += (rest >> 24 & 0xff) - reserved;
  if (!ls_read_stack(memory, w, &pair[1], sizeof(pair[1]), at)) return 1;
  w->sp = at + 8;
#endif
  ls_go_to_caller(w, pair[1]);
  return 1;
}

/* Sets an end at which the stack is whole, if nothing was left out before. */
static __always_inline void ls_end_whole(struct ls_unwind* w, __u8 end) {
  w->end = w->left_out ? LS_STACK_LEFT_OUT : end;
}

/* Goes to the caller by the frame pointer, for code that no table describes. */
static __always_inline void ls_step_by_frame_pointer(const struct ls_memory* memory,
                                                     struct ls_unwind* w) {
  __u64 pair[2] = {};
  _Bool backwards;

  if (ls_step_to_return(memory, w)) return;
  w->fp_frames++;
  w->rbx_at = LS_RBX_GONE;
  if (ls_step_at_prologue(memory, w)) return;
  if (w->fp_lost || w->fp == 0) {
    w->end = LS_STACK_NO_WAY_ON;
    if (!w->fp_lost) ls_end_whole(w, LS_STACK_CHAIN_ENDED);
    return;
  }
  backwards = w->fp < w->sp;
  if (w->fp & 7 || (backwards && (w->changed_stack || w->at.module == LS_UNWIND_NO_FILE))) {
    w->end = LS_STACK_NOT_GROWING;
    return;
  }
  w->changed_stack |= backwards;
  if (!ls_read_stack(memory, w, pair, sizeof(pair), w->fp)) return;
  if (pair[1] == 0) {
    ls_end_whole(w, LS_STACK_CHAIN_ENDED);
    return;
  }
  w->sp = w->fp + 16;
#if defined(__TARGET_ARCH_arm64)
  w->sp_lost = 1; /* sp is somewhere above the two words */
#endif
  w->fp = pair[0];
  ls_go_to_caller(w, pair[1]);
}

/* Sets `value` to a register of the code at w->pc. All are known for interrupted code; of callers
 * only rbx may be, and only where each function since has said where it is. Returns 0 if it is not
 * known, with the reason in w->end. */
static __always_inline _Bool ls_find_register(const struct ls_memory* memory, struct ls_unwind* w,
                                              __u64 number, __u64* value) {
#if !defined(__TARGET_ARCH_arm64)
  if (w->returned && number == LS_RBX_REGISTER && w->rbx_at != LS_RBX_GONE) {
    if (w->rbx_at != 0) return ls_read_stack(memory, w, value, sizeof(*value), w->rbx_at);
    *value = w->registers[LS_RBX_REGISTER];
    return 1;
  }
#else
  (void)memory;
#endif
  if (w->returned) {
    w->end = LS_STACK_UNSUPPORTED;
    return 0;
  }
  ls_keep_together(number);
  *value = w->registers[number & (LS_UNWIND_REGISTERS - 1)];
  return 1;
}

#if !defined(__TARGET_ARCH_arm64)
/* Finds the caller's rbx, where the rule says where it is. */
static __always_inline void ls_find_rbx(struct ls_unwind* w, const struct ls_unwind_rule* rule,
                                        __u64 cfa) {
  __u64 place = LS_OPERAND_NUMBER((__u8)rule->operand);
  if ((rule->cfa != LS_CFA_SP && rule->cfa != LS_CFA_FP) || place == LS_RBX_NOT_KNOWN) {
    w->rbx_at = LS_RBX_GONE;
  } else if (place != LS_RBX_SAME) {
    w->rbx_at = cfa - 8 * (place - LS_RBX_SAME);
  }
}
#endif

/* Returns 0 if there is no CFA, with the reason in w->end. */
static __always_inline _Bool ls_find_cfa(const struct ls_memory* memory, struct ls_unwind* w,
                                         const struct ls_unwind_rule* rule, __u64* cfa) {
  __u64 at = 0;

  w->end = LS_STACK_UNSUPPORTED;
  switch (rule->cfa) {
    case LS_CFA_SP:
    case LS_CFA_NEW_THREAD:
      at = w->sp;
      break;
    case LS_CFA_FP:
    case LS_CFA_AT_FP:
      if (w->fp_lost) return 0;
      at = w->fp;
      break;
    case LS_CFA_AT_SP:
      at = w->sp;
      break;
    case LS_CFA_PLT:
      at = w->sp + ((w->pc & 15) >= (__u64)rule->operand ? 8 : 0);
      break;
    case LS_CFA_REGISTER:
      if (!ls_find_register(memory, w, LS_OPERAND_NUMBER((__u8)rule->operand), &at)) return 0;
      break;
    default:
      return 0;
  }
  at += (__s64)rule->cfa_offset;
  if (rule->cfa == LS_CFA_AT_SP || rule->cfa == LS_CFA_AT_FP) {
    if (!ls_read_stack(memory, w, cfa, sizeof(*cfa), at)) return 0;
    at = *cfa + 8 * (__s64)rule->operand;
  }
  *cfa = at;
  /* A leaf may have nothing on the stack, but a caller has called. */
  if (rule->ra != LS_RA_OTHER_STACK && (at < w->sp || (at == w->sp && w->returned))) {
    w->end = LS_STACK_NOT_GROWING;
    return 0;
  }
  w->end = LS_STACK_NOT_WANTED;
  return 1;
}

static __always_inline void ls_step_by_rule(const struct ls_memory* memory, struct ls_unwind* w,
                                            const struct ls_unwind_rule* rule) {
  __u64 pair[2] = {}; /* frame pointer and return address, as calls and pushes leave them */
  __u64 cfa = 0;
  _Bool neighbours = rule->fp == LS_FP_AT_CFA && rule->fp_offset + 8 == rule->ra_offset;

  if (!ls_find_cfa(memory, w, rule, &cfa)) return;
  if (rule->ra == LS_RA_AT_CFA || rule->ra == LS_RA_OTHER_STACK) {
    if (neighbours) {
      if (!ls_read_stack(memory, w, pair, sizeof(pair), cfa + (__s64)rule->fp_offset)) return;
    } else if (!ls_read_stack(memory, w, &pair[1], sizeof(pair[1]), cfa + (__s64)rule->ra_offset)) {
      return;
    }
  } else if (!ls_find_register(memory, w, (__u64)rule->ra_offset, &pair[1])) {
    return;
  }
  if (rule->fp == LS_FP_LOST) {
    w->fp_lost = 1;
  } else if (rule->fp == LS_FP_AT_CFA) {
    if (!neighbours &&
        !ls_read_stack(memory, w, &pair[0], sizeof(pair[0]), cfa + (__s64)rule->fp_offset)) {
      return;
    }
    w->fp = pair[0];
    w->fp_lost = 0;
  } else if (rule->fp == LS_FP_AT_FP && !w->fp_lost) {
    if (!ls_read_stack(memory, w, &pair[0], sizeof(pair[0]), w->fp + (__s64)rule->fp_offset)) {
      return;
    }
    w->fp = pair[0];
  }
#if !defined(__TARGET_ARCH_arm64)
  ls_find_rbx(w, rule, cfa);
#endif
  w->sp = cfa;
  /* A return address is looked up one byte before, so this is looked up at its own. */
  ls_go_to_caller(w, rule->ra == LS_RA_OTHER_STACK ? pair[1] + 1 : pair[1]);
}

/* Most callers are of few kinds: the CFA is so far from the stack pointer or the frame pointer, the
 * return address is on the stack, and there may be a saved frame pointer. */
static __always_inline _Bool ls_is_plain(const struct ls_unwind_rule* rule) {
  return (rule->cfa == LS_CFA_SP || rule->cfa == LS_CFA_FP) && rule->ra == LS_RA_AT_CFA &&
         (rule->fp == LS_FP_SAME || rule->fp == LS_FP_AT_CFA) &&
         ((__u8)rule->operand & ~LS_BY_CODE) == LS_RBX_NOT_KNOWN;
}

/* Of a caller whose registers are known. */
struct ls_plain_place {
  __u64 pc;
  __u64 sp;
  __u64 fp;
};

/* Goes to the caller by a plain rule, if all words are in the window and nothing is wrong. Else
 * this changes nothing, returns 0, and ls_unwind_apply() does the same or says what is wrong. */
static __always_inline _Bool ls_step_plainly(const struct ls_stack_window* window,
                                             const struct ls_unwind_rule* rule, __u64 code_mask,
                                             struct ls_plain_place* place) {
  __u64 cfa = (rule->cfa == LS_CFA_FP ? place->fp : place->sp) + (__s64)rule->cfa_offset;
  __u64 pc = 0;
  __u64 fp = place->fp;

  if (cfa <= place->sp) return 0;
  if (!ls_find_words(window, &pc, sizeof(pc), cfa + (__s64)rule->ra_offset)) return 0;
  if (rule->fp == LS_FP_AT_CFA &&
      !ls_find_words(window, &fp, sizeof(fp), cfa + (__s64)rule->fp_offset)) {
    return 0;
  }
#if defined(__TARGET_ARCH_arm64)
  pc &= code_mask;
#else
  (void)code_mask;
#endif
  if (pc < LS_FIRST_CODE || pc >> LS_CODE_BITS) return 0;
  place->pc = pc;
  place->sp = cfa;
  place->fp = fp;
  return 1;
}

/* Returns whether the code at w->pc is known. If not, w->end is set. Call this before the frame is
 * counted: an address that leads nowhere was no return address. */
static __always_inline _Bool ls_unwind_locate(struct ls_unwind* w) {
  if (ls_find_mapping(w, w->pc - w->returned)) return 1;
  w->end = LS_STACK_NO_MAPPING;
  return 0;
}

/* Returns whether w->pc is a return address that was made for the function which begins there.
 * Then the frame is at that address, as if it had been interrupted. */
static __always_inline _Bool ls_is_made_return(const struct ls_unwind* w) {
  return w->returned && w->rule.cfa == LS_CFA_ENTRY && w->rule.operand == LS_MADE_RETURN;
}

/* Returns whether this is a thread that has just been made, and has not been anywhere yet. */
static __always_inline _Bool ls_is_new_thread(const struct ls_unwind* w) {
  return w->rule.cfa == LS_CFA_NEW_THREAD && !w->returned && w->registers[0] == 0;
}

/* Goes to the caller by w->rule, or sets w->end. */
static __always_inline void ls_unwind_apply(const struct ls_memory* memory, struct ls_unwind* w) {
  const struct ls_unwind_rule* rule = &w->rule;

  if (rule->cfa == LS_CFA_GAP) {
    w->end = LS_STACK_NO_WAY_ON;
  } else if (rule->cfa == LS_CFA_ENTRY || ls_is_new_thread(w)) {
    ls_end_whole(w, LS_STACK_ENTRY);
  } else if (rule->cfa == LS_CFA_UNSUPPORTED || (rule->cfa == LS_CFA_SIGNAL && w->sp_lost)) {
    w->end = LS_STACK_UNSUPPORTED;
  } else if (rule->cfa == LS_CFA_SIGNAL) {
    ls_step_to_interrupted(memory, w);
  } else if (rule->cfa != LS_CFA_GAP_FP && rule->ra == LS_RA_NONE) {
    ls_end_whole(w, LS_STACK_ROOT);
  } else if (rule->cfa == LS_CFA_GAP_FP || w->sp_lost) {
    if (rule->cfa == LS_CFA_GAP_FP && rule->operand) w->left_out = 1;
    ls_step_by_frame_pointer(memory, w);
  } else {
    const _Bool by_code =
        rule->cfa == LS_CFA_SP || rule->cfa == LS_CFA_FP || rule->cfa == LS_CFA_REGISTER;
    if (by_code && rule->operand & LS_ONLY_LIKELY) w->fp_frames++;
    ls_step_by_rule(memory, w, rule);
  }
}

#endif /* LABELSCOPE_UNWIND_STEP_H */
