/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The step of the unwinder (unwind_step.h) searches these lists before it comes to a table: the
 * mappings of a process, and for each the table of its file. */
#ifndef LABELSCOPE_UNWIND_LISTS_H
#define LABELSCOPE_UNWIND_LISTS_H

#include "unwind_table/unwind_rules.h"

/* The limit of executable mappings of a process. The search takes 14 steps. */
#define LS_UNWIND_MAX_MAPPINGS 16383

/* These numbers stand in place of a module. */
#define LS_UNWIND_NO_TABLE 0xffffffffU /* a file whose table is missing */
#define LS_UNWIND_NO_FILE 0xfffffffeU  /* memory that a program wrote code to */

struct ls_unwind_mapping {
  __u64 start;
  __u64 end;
  __u64 text; /* address of the module's first page, also if that is not mapped */
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
  __u32 life; /* the list is for this life of the process (wire.h) */
};

#endif /* LABELSCOPE_UNWIND_LISTS_H */
