/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space gives the unwinder beside the tables themselves (unwind_table/unwind_rules.h):
 *
 *   map `unwind_processes`   `unwind_mappings`           `unwind_modules`
 *   pid -> ls_unwind_process  first .. first + count      ls_unwind_module
 *            first, count --> start, end, text, module --> first_page --> `unwind_pages` --> block
 *                             (sorted)                     first_rule --> `unwind_rules`
 *
 * A process changes from one list of mappings to the next in one update of its entry. A list that
 * is no longer used may become another's: so each mapping names its list, and a program that still
 * has the old entry finds that out. */
#ifndef LABELSCOPE_BPF_UNWIND_WIRE_H
#define LABELSCOPE_BPF_UNWIND_WIRE_H

#include "unwind_table/unwind_rules.h"

/* Executable mappings of a process. Steps of the search: 14. */
#define LS_UNWIND_MAX_MAPPINGS 16383

/* Numbers of modules that are none. */
#define LS_UNWIND_NO_TABLE 0xffffffffU /* a file whose table is missing */
#define LS_UNWIND_NO_FILE 0xfffffffeU  /* memory that a program wrote code to */

struct ls_unwind_mapping {
  __u64 start;
  __u64 end;
  __u64 text; /* where the module's first page is, or would be */
  __u32 module;
  __u32 list;
};

struct ls_unwind_module {
  __u32 first_page;
  __u32 page_count;
  __u32 first_rule;
  __u32 rule_count;
};

struct ls_unwind_process {
  __u32 first;
  __u32 count;
  __u32 list;
  __u32 exec_count; /* the list is of the program after so many execs (wire.h) */
};

/* Rows are in blocks of LS_UNWIND_BLOCK_ROWS, blocks in maps of this many, which user space makes
 * when it needs them. All have the same shape: that is what 5.10 asks of maps within a map. */
#define LS_UNWIND_MAP_BLOCKS 64
#define LS_UNWIND_MAX_BLOCK_MAPS 256 /* 1 GiB */
#define LS_UNWIND_MAX_PAGES 131072   /* 8 GiB of code */
#define LS_UNWIND_RULES_ROOM 262144  /* of all modules */
#define LS_UNWIND_MAX_MODULES 8192
#define LS_UNWIND_MAPPINGS_ROOM 262144 /* of all processes */

#endif /* LABELSCOPE_BPF_UNWIND_WIRE_H */
