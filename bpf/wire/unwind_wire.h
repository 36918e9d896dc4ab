/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* User space gives the unwinder this, beside the tables themselves (unwind_table/unwind_rules.h):
 *
 *   map `unwind_processes`   `unwind_mappings`           `unwind_modules`
 *   pid -> ls_unwind_process  first .. first + count      ls_unwind_module
 *            first, count --> start, end, text, module --> first_page --> `unwind_pages` --> block
 *                             (sorted)                     first_rule --> `unwind_rules`
 *
 * A process changes from one list of mappings to the next in one update of its entry. The room of a
 * list that is no longer used may get another list. So each mapping names its list, and a program
 * that still has the old entry detects that. */
#ifndef LABELSCOPE_BPF_UNWIND_WIRE_H
#define LABELSCOPE_BPF_UNWIND_WIRE_H

#include "unwind/unwind_lists.h"

/* A page of x86-64 at a fixed address, in the kernel's half, with three functions that old programs
 * call. The kernel does what they ask for in place of them (arch/x86/entry/vsyscall). */
#define LS_VSYSCALL 0xffffffffff600000ULL
#define LS_VSYSCALL_SIZE 4096

/* Rows are in blocks of LS_UNWIND_BLOCK_ROWS. All of these, but modules, are in maps within a map,
 * which user space makes when it needs them (unwind/growing_array.h): so a recording of a small
 * program takes little memory. */
#define LS_UNWIND_MAP_BLOCKS 16
#define LS_UNWIND_MAX_BLOCK_MAPS 1024 /* 1 GiB */
#define LS_UNWIND_MAX_PAGES 131072    /* 8 GiB of code */
#define LS_UNWIND_PART_PAGES 8192
#define LS_UNWIND_RULES_ROOM 262144 /* rules of all modules */
#define LS_UNWIND_PART_RULES 4096
#define LS_UNWIND_MAX_MODULES 8192
#define LS_UNWIND_MAPPINGS_ROOM 262144 /* mappings of all processes */
#define LS_UNWIND_PART_MAPPINGS 4096

#endif /* LABELSCOPE_BPF_UNWIND_WIRE_H */
