/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* These tables are the way from a frame to its caller, as numbers: call frame information, prepared
 * for a program that may neither parse nor loop. User space makes the tables from files
 * (build_unwind_table.h), and a step reads them (unwind/unwind_step.h).
 *
 *   text of a module     pages of 64 KiB        rows of a page, sorted         rules of the module
 *   +------------+       +------------------+   +-----------------------+     +------------------+
 *   | page 0     | ----> | block, first row | > | offset 0    | rule 7 ---+--> | CFA = sp + 16    |
 *   | page 1     |       | number of rows   |   | offset 4660 | rule 2    |    | RA at CFA - 8, . |
 *   ...                                         ...
 *
 * A row is valid up to the next one. The first row of a page is at offset 0 and repeats the rule
 * that is valid there, so a search never leaves its page. Code about which nothing is known has a
 * row for that, so the row before is never used for it.
 *
 * The CFA is what the stack pointer was before the call. RA is the return address. */
#ifndef LABELSCOPE_UNWIND_RULES_H
#define LABELSCOPE_UNWIND_RULES_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* A row is the low half of the address, and the number of a rule. */
#define LS_UNWIND_ROW(offset, rule) ((offset) << 16 | (rule))
#define LS_UNWIND_ROW_OFFSET(row) ((row) >> 16)
#define LS_UNWIND_ROW_RULE(row) ((row)&0xffff)

#define LS_UNWIND_PAGE_BITS 16
/* A block has so many rows, which are 64 KiB: one value of the map. All rows of a page are in one
 * block. No page of a real file has more than 5,060. */
#define LS_UNWIND_BLOCK_ROWS 16384
/* A row has 16 bits for the number of a rule. The largest real file needs 707 rules. */
#define LS_UNWIND_MAX_RULES 65535

/* Where the CFA is, or why there is none. The names are for people who look at tables. */
#define LS_CFA_KINDS(X)                                                                            \
  X(LS_CFA_GAP, "gap")                 /* nothing describes this code */                           \
  X(LS_CFA_GAP_FP, "frame-pointer")    /* nothing does, but it keeps frame pointers */             \
  X(LS_CFA_ENTRY, "entry")             /* first code of a program or thread, without a caller */   \
  X(LS_CFA_UNSUPPORTED, "unsupported") /* described as nothing below can say */                    \
  X(LS_CFA_SP, "sp")                   /* stack pointer + cfa_offset */                            \
  X(LS_CFA_FP, "fp")                   /* frame pointer + cfa_offset */                            \
  X(LS_CFA_REGISTER, "register")       /* register of `operand` + cfa_offset */                    \
  X(LS_CFA_PLT, "plt")       /* sp + cfa_offset, + 8 from the byte `operand` of a PLT entry on */  \
  X(LS_CFA_AT_SP, "at-sp")   /* *(sp + cfa_offset) + 8 * operand */                                \
  X(LS_CFA_AT_FP, "at-fp")   /* *(fp + cfa_offset) + 8 * operand */                                \
  X(LS_CFA_SIGNAL, "signal") /* the kernel's signal frame: all registers lie on the stack */       \
  /* As LS_CFA_SP, but behind a system call out of which two threads come. The new one has 0 as */ \
  /* its result, and no caller. */                                                                 \
  X(LS_CFA_NEW_THREAD, "new-thread")

#define LS_CFA_ENUMERATOR(name, text) name,
enum ls_cfa_kind { LS_CFA_KINDS(LS_CFA_ENUMERATOR) LS_CFA_KIND_COUNT };

/* This is the `operand` of LS_CFA_GAP_FP if the code has no frame of its own and has changed the
 * stack, so that the frame pointer is its caller's, and leaves that caller out. */
#define LS_FP_LEAVES_OUT 1

/* This is the `operand` of LS_CFA_ENTRY for the byte in front of a function that nobody calls, but
 * to whose first byte a return address was made, as makecontext() does. The frame is then at that
 * first byte, not in front of it. */
#define LS_MADE_RETURN 1

/* The `operand` of LS_CFA_SP, LS_CFA_FP and LS_CFA_REGISTER has a number and two flags. The flags
 * mean: no call frame information says so, but the instructions of the code do; and where they
 * start, in a stripped file, is only likely. */
#define LS_OPERAND_NUMBER(operand) ((operand)&31)
#define LS_BY_CODE 32
#define LS_ONLY_LIKELY 64

/* For LS_CFA_REGISTER the number is that of the register. For LS_CFA_SP and LS_CFA_FP it is the
 * place of the caller's rbx (x86-64), in words below the CFA, plus LS_RBX_SAME. It is known only in
 * a file that finds a CFA by rbx: the dynamic linker does so while it binds a name. */
#define LS_RBX_NOT_KNOWN 0
#define LS_RBX_SAME 1 /* rbx still has it */
#define LS_RBX_MOST_WORDS (31 - LS_RBX_SAME)

/* Where the return address is. A new kind goes before the count. */
enum ls_ra_kind {
  LS_RA_NONE,     /* undefined: the root of the thread */
  LS_RA_AT_CFA,   /* at CFA + ra_offset */
  LS_RA_REGISTER, /* in register ra_offset, whose value is known only for interrupted code */
  /* At CFA + ra_offset, where the CFA may be on any stack. Like interrupted code, the caller goes
   * on at that very address: augmentation "S", for what is no signal frame of the kernel. */
  LS_RA_OTHER_STACK,
  LS_RA_KIND_COUNT
};

/* Where the caller's frame pointer is. A new kind goes before the count. */
enum ls_fp_kind {
  LS_FP_SAME,
  LS_FP_AT_CFA, /* at CFA + fp_offset */
  LS_FP_AT_FP,  /* at frame pointer + fp_offset */
  LS_FP_LOST,
  LS_FP_KIND_COUNT
};

/* Registers have their DWARF numbers (x86-64 psABI figure 3.36, AADWARF64 section 4.1). */
struct ls_unwind_rule {
  __u8 cfa;     /* enum ls_cfa_kind */
  __u8 ra;      /* enum ls_ra_kind */
  __u8 fp;      /* enum ls_fp_kind */
  __s8 operand; /* see enum ls_cfa_kind */
  __s32 cfa_offset;
  __s32 fp_offset;
  __s32 ra_offset;
};

/* Returns whether a rule that comes from another process or a file can be in a table. Its numbers
 * may be any: a step uses only those bits of `operand`, and of a register's number, that it needs.
 */
static inline int ls_is_unwind_rule(const struct ls_unwind_rule* rule) {
  return rule->cfa < LS_CFA_KIND_COUNT && rule->ra < LS_RA_KIND_COUNT &&
         rule->fp < LS_FP_KIND_COUNT;
}

struct ls_unwind_page {
  __u32 block;
  __u16 first; /* first row in the block */
  __u16 count; /* 0 if there is no code here */
};

/* A page in the memory of user space has the rows first .. first + count of its table. */
struct ls_unwind_rows {
  __u32 first;
  __u32 count;
};

#endif /* LABELSCOPE_UNWIND_RULES_H */
