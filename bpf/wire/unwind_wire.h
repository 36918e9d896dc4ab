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

#include "unwind/unwind_lists.h"

/* Rows are in blocks of LS_UNWIND_BLOCK_ROWS, blocks in maps of this many, which user space makes
 * when it needs them. All have the same shape: that is what 5.10 asks of maps within a map. */
#define LS_UNWIND_MAP_BLOCKS 64
#define LS_UNWIND_MAX_BLOCK_MAPS 256 /* 1 GiB */
#define LS_UNWIND_MAX_PAGES 131072   /* 8 GiB of code */
#define LS_UNWIND_RULES_ROOM 262144  /* of all modules */
#define LS_UNWIND_MAX_MODULES 8192
#define LS_UNWIND_MAPPINGS_ROOM 262144 /* of all processes */

#endif /* LABELSCOPE_BPF_UNWIND_WIRE_H */
