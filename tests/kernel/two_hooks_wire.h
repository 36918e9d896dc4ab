/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of two_hooks.bpf.c and their test agree on. */
#ifndef LABELSCOPE_TWO_HOOKS_WIRE_H
#define LABELSCOPE_TWO_HOOKS_WIRE_H

#include "bpf/wire/counters.h"

/* This number of enum ls_sampling_program belongs to no program of labelscope. The number before it
 * is the entry of `counters` for programs that take no samples. */
enum { CALL_PROGRAM = LS_COUNTERS_OTHERS + 1, ALL_PROGRAMS = CALL_PROGRAM + 1, CALL_WEIGHT = 777 };

#endif /* LABELSCOPE_TWO_HOOKS_WIRE_H */
