/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* A TLS recipe is the way from a thread pointer to a thread-local variable. It is plain data with a
 * fixed layout, so that it can be put into a BPF map. labelscope/observe.h applies it in C++,
 * labelscope/bpf/locate.bpf.h in BPF.
 *
 *   LS_TP_OFFSET   address = thread pointer + offset
 *
 *   LS_DTV_SLOT    dtv     = *(thread pointer + dtv_offset)
 *                  require *(dtv + length_offset) >= module_id    the DTV reaches to the module
 *                  require *(dtv + 0) >= generation, if not 0     it is not older than the module
 *                  block   = *(dtv + module_id * entry_size)
 *                  require block is neither 0 nor -1              the thread's block is allocated
 *                  address = block + offset
 *
 *   LS_IN_REGISTER the variable is no memory but a register of user mode, x28 of aarch64: the walk
 *                  gets the register's value as the address
 *
 *   LS_AT_ADDRESS  address = offset: the process has one such variable, and all threads share it
 *
 *   LS_FIRST_THREAD_AT_ADDRESS  the same, but only the process's first thread (the one whose number
 *                  is the process's) has labels from it: its value says nothing about the others
 *
 * A thread that fails one of the three tests has never touched the variable: it is unlabelled.
 * Sources: "ELF Handling For Thread-Local Storage" (variants I and II, sections 3.3 and 3.4);
 * glibc's dtv_t is 16 bytes with the length in dtv[-1] and the generation in dtv[0]; musl's is 8
 * bytes with the length in dtv[0] and no generation. */
#ifndef LABELSCOPE_TLS_RECIPE_H
#define LABELSCOPE_TLS_RECIPE_H

#include "labelscope/outcome.h"

#ifndef __VMLINUX_H__ /* bpftool's header, which has the kernel's types already */
#include <linux/types.h>
#endif

enum ls_recipe_kind {
  LS_RECIPE_NONE = 0, /* the variable cannot be located: every sample is LS_UNREADABLE_NO_RECIPE */
  LS_TP_OFFSET = 1,
  LS_DTV_SLOT = 2,
  LS_RECIPE_NOT_RELOCATED = 3, /* plan again later: samples are LS_UNREADABLE_NOT_RELOCATED */
  LS_IN_REGISTER = 4,
  LS_AT_ADDRESS = 5,
  LS_FIRST_THREAD_AT_ADDRESS = 6
};

/* The label source to which the bytes of the variable belong (label_blocks.h has the rest). */
enum ls_source {
  LS_SOURCE_CUSTOM_LABELS = 0,  /* pointer to a label set: Custom Labels ABI v1 */
  LS_SOURCE_THREAD_CONTEXT = 1, /* 64 bytes: context_tls_v1 (customlabels/thread_context.h) */
  LS_SOURCE_OTEL_CONTEXT = 2,   /* pointer to a record: OpenTelemetry's otel_thread_ctx_v1 */
  LS_SOURCE_GO = 3,             /* pointer to the goroutine that runs: labels of runtime/pprof */
  LS_SOURCE_NODE = 4,           /* 32 bytes: OpenTelemetry's otel_thread_ctx_nodejs_v1 */
  LS_SOURCE_ELASTIC = 5,        /* pointer to 37 bytes: Elastic APM's correlation */
  LS_SOURCE_VARIABLE = 6,       /* as the user has named it: parameters are a struct ls_variable */
  LS_SOURCE_PRESET = 7,         /* what a preset finds: parameters are a struct ls_preset_recipe */
  LS_SOURCE_COUNT = 8
};
/* What distinguishes sources for those who do not know them by name: a bit for each source. */
/* Its walk sends keys and values; that of any other sends raw blocks. */
#define LS_WORD_SOURCES (1U << LS_SOURCE_CUSTOM_LABELS | 1U << LS_SOURCE_GO)
/* Its walk asks which number, or name, the current thread has. So it reads no other thread. */
#define LS_CURRENT_SOURCES (1U << LS_SOURCE_GO | 1U << LS_SOURCE_PRESET)
/* Its recipes name a program (preset_program.h), which is its walk. */
#define LS_PROGRAM_SOURCES (1U << LS_SOURCE_PRESET)
#define LS_IS_SOURCE_OF(sources, source) \
  ((source) < LS_SOURCE_COUNT && ((sources) & 1U << (source)) != 0)

struct ls_tls_recipe {
  __s64 offset;        /* bytes: from the thread pointer, within the TLS block, or from address 0 */
  __u64 generation;    /* least DTV generation that knows this module; 0 = not checked */
  __u32 kind;          /* enum ls_recipe_kind */
  __u32 module_id;     /* 1-based, as the loader counts */
  __s16 dtv_offset;    /* bytes from the thread pointer to the pointer to the DTV */
  __s16 length_offset; /* bytes from dtv[0] to the word that holds the largest valid module ID */
  __u16 entry_size;    /* bytes of one DTV entry */
  __u16 source;        /* enum ls_source */
  __u64 parameters[4]; /* what else the source's walk needs; 0 if it needs nothing */
};

/* All recipes of a process, in the order of its publishers. This is the value of a BPF map. */
struct ls_recipes {
  __u32 count; /* how many of `recipe` are used; 0 if the process has no publisher */
  __u32 reserved;
  struct ls_tls_recipe recipe[LS_MAX_PUBLISHERS];
};

#ifdef __cplusplus
static_assert(sizeof(struct ls_tls_recipe) == 64, "the layout is part of the interface");
static_assert(sizeof(struct ls_recipes) == 392, "the layout is part of the interface");
#else
_Static_assert(sizeof(struct ls_tls_recipe) == 64, "the layout is part of the interface");
_Static_assert(sizeof(struct ls_recipes) == 392, "the layout is part of the interface");
#endif

#endif /* LABELSCOPE_TLS_RECIPE_H */
