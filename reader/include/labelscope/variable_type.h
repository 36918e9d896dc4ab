/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* This describes a variable that a user has named as a label: how its value is found
 * and what it is. It is plain C: the parameters of its recipe (tls_recipe.h), and the head of its
 * value as BPF sends it.
 *
 *   variable --(+ offset[0])--> pointer --(+ offset[1])--> pointer --(+ offset[hops])--> value
 *
 * The value is what lies there, or if that is a pointer to text, the text. A null pointer anywhere
 * on the way means that there is no label. */
#ifndef LABELSCOPE_VARIABLE_TYPE_H
#define LABELSCOPE_VARIABLE_TYPE_H

#ifndef __VMLINUX_H__ /* bpftool's header, which has the kernel's types already */
#include <linux/types.h>
#endif

enum ls_variable_kind {
  LS_VARIABLE_UNSIGNED = 1, /* size 1, 2, 4 or 8 */
  LS_VARIABLE_SIGNED = 2,
  LS_VARIABLE_FLOAT = 3, /* size 4 or 8 */
  LS_VARIABLE_BOOL = 4,
  LS_VARIABLE_HEX = 5,     /* size bytes, shown as hexadecimal digits */
  LS_VARIABLE_ARRAY = 6,   /* size characters, or fewer with a NUL behind them */
  LS_VARIABLE_CSTRING = 7, /* pointer to characters with a NUL behind them */
  LS_VARIABLE_SLICE = 8,   /* pointer to characters, then their number */
  LS_VARIABLE_VIEW = 9,    /* their number, then the pointer (std::string_view of libstdc++) */
  LS_VARIABLE_TEXT = 10    /* characters in place, with a NUL behind them */
};

#define LS_VARIABLE_HOPS 5        /* pointers on the way to the value */
#define LS_VARIABLE_MAX_BYTES 256 /* size of a value; longer text is cut */

struct ls_variable {
  __u8 kind;  /* enum ls_variable_kind */
  __u8 index; /* index of the user's variable, by which the label's key is found */
  __u8 hops;  /* at most LS_VARIABLE_HOPS */
  __u8 reserved;
  __u32 size; /* size of the value, or of the pointer if that leads to text */
  __s32 offset[LS_VARIABLE_HOPS + 1];
};

/* The head of a raw block (label_blocks.h) of such a variable. */
struct ls_variable_value {
  __u8 kind;
  __u8 index;
  __u16 reserved;
  __u32 size; /* number of the bytes that follow, with the NUL of a C string */
};

#ifdef __cplusplus
static_assert(sizeof(struct ls_variable) == 32, "as the parameters of a recipe");
static_assert(sizeof(struct ls_variable_value) == 8, "the layout is part of the interface");
#else
_Static_assert(sizeof(struct ls_variable) == 32, "as the parameters of a recipe");
_Static_assert(sizeof(struct ls_variable_value) == 8, "the layout is part of the interface");
#endif

#endif /* LABELSCOPE_VARIABLE_TYPE_H */
