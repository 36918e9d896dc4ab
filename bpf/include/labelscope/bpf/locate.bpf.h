/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies a TLS recipe: from a thread pointer (or x28 of aarch64) to the address of the variable.
 * tls_recipe.h has the rules. labelscope/observe.h does the same in C++. */
#ifndef LABELSCOPE_LOCATE_BPF_H
#define LABELSCOPE_LOCATE_BPF_H

#include "labelscope/bpf/read_user.bpf.h"
#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

struct ls_located {
  __u64 address; /* meaningful only if outcome is LS_LABELLED */
  __u32 outcome;
  __u32 flags;
};

/* In glibc these are dtv[-1].counter (the length), 8 unused bytes, and dtv[0].counter (the
 * generation). */
struct ls_glibc_dtv_head {
  __u64 length;
  __u64 unused;
  __u64 generation;
};
#define LS_GLIBC_LENGTH_OFFSET (-16)

/* Reads length and generation, in one read if they are neighbours. The generation stays 0 if the
 * recipe does not need it. */
static __always_inline _Bool ls_read_dtv_head(const struct ls_memory* memory,
                                              const struct ls_tls_recipe* recipe, __u64 dtv,
                                              struct ls_glibc_dtv_head* head) {
  if (recipe->generation != 0 && recipe->length_offset == LS_GLIBC_LENGTH_OFFSET)
    return ls_read_user(memory, head, sizeof(*head), dtv + LS_GLIBC_LENGTH_OFFSET);
  if (!ls_read_user(memory, &head->length, sizeof(head->length), dtv + recipe->length_offset))
    return 0;
  if (recipe->generation == 0) return 1;
  return ls_read_user(memory, &head->generation, sizeof(head->generation), dtv);
}

static __always_inline void ls_locate_in_dtv(const struct ls_memory* memory,
                                             const struct ls_tls_recipe* recipe,
                                             __u64 thread_pointer, struct ls_located* where) {
  struct ls_glibc_dtv_head head = {};
  __u64 dtv = 0;
  __u64 block = 0;

  where->outcome = LS_UNREADABLE_BAD_DTV;
  if (!ls_read_user(memory, &dtv, sizeof(dtv), thread_pointer + recipe->dtv_offset)) return;
  if (dtv == 0) {
    return;
  }
  if (!ls_read_dtv_head(memory, recipe, dtv, &head)) return;
  if (head.length >= recipe->module_id && head.generation >= recipe->generation) {
    __u64 entry = dtv + (__u64)recipe->module_id * recipe->entry_size;
    if (!ls_read_user(memory, &block, sizeof(block), entry)) return;
  }
  if (block == 0 || block == ~0ULL) {
    where->outcome = LS_UNLABELLED;
    where->flags = LS_NEVER_TOUCHED;
    return;
  }
  where->outcome = LS_LABELLED;
  where->address = block + recipe->offset;
}

static __always_inline void ls_locate(const struct ls_memory* memory,
                                      const struct ls_tls_recipe* recipe, __u64 thread_pointer,
                                      __u64 x28, struct ls_located* where) {
  __u32 kind = recipe->kind;

  where->address = 0;
  where->flags = 0;
  if (kind == LS_RECIPE_NOT_RELOCATED) {
    where->outcome = LS_UNREADABLE_NOT_RELOCATED;
  } else if (kind == LS_AT_ADDRESS || kind == LS_FIRST_THREAD_AT_ADDRESS) {
    _Bool has_it = kind == LS_AT_ADDRESS || ls_is_first_thread(memory);
    where->outcome = has_it ? LS_LABELLED : LS_UNLABELLED;
    where->address = recipe->offset;
  } else if (kind == LS_IN_REGISTER) {
    where->outcome = x28 ? LS_LABELLED : LS_UNREADABLE_NO_THREAD_POINTER;
    where->address = x28;
  } else if (kind != LS_TP_OFFSET && kind != LS_DTV_SLOT) {
    where->outcome = LS_UNREADABLE_NO_RECIPE;
  } else if (thread_pointer == 0) {
    where->outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  } else if (kind == LS_TP_OFFSET) {
    where->outcome = LS_LABELLED;
    where->address = thread_pointer + recipe->offset;
  } else {
    ls_locate_in_dtv(memory, recipe, thread_pointer, where);
  }
}

#endif /* LABELSCOPE_LOCATE_BPF_H */
