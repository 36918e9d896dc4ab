/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the step of the unwinder (unwind_step.h) searches before it comes to a table: the mappings
 * of a process, and for each the table of its file. */
#ifndef LABELSCOPE_UNWIND_LISTS_H
#define LABELSCOPE_UNWIND_LISTS_H

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

#endif /* LABELSCOPE_UNWIND_LISTS_H */
