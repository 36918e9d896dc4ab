/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This reads register x28 of user mode, which recipes of kind LS_IN_REGISTER need: Go on aarch64
 * keeps the running goroutine there. It is 0 if it is not known: always on x86-64, and in kernel
 * mode before Linux 5.15. */
#ifndef LABELSCOPE_BPF_X28_BPF_H
#define LABELSCOPE_BPF_X28_BPF_H

#include <linux/bpf_perf_event.h>

#include "labelscope/tls_recipe.h"

#if defined(__TARGET_ARCH_arm64)
enum bpf_func_id___ls_x28 { BPF_FUNC_task_pt_regs___ls_x28 = 1 };

/* Returns the value that the kernel saved when the task last came from user mode. */
static __always_inline __u64 ls_saved_x28(struct task_struct* task) {
  __u64 value = 0;
  if (!bpf_core_enum_value_exists(enum bpf_func_id___ls_x28, BPF_FUNC_task_pt_regs___ls_x28))
    return 0;
  const struct user_pt_regs* saved = (const struct user_pt_regs*)bpf_task_pt_regs(task);
  if (!saved || bpf_probe_read_kernel(&value, sizeof(value), &saved->regs[28])) return 0;
  return value;
}

static __always_inline _Bool ls_wants_x28(const struct ls_recipes* recipes) {
  _Bool wants = 0;
  for (int i = 0; i < LS_MAX_PUBLISHERS; i++) wants |= recipes->recipe[i].kind == LS_IN_REGISTER;
  return wants;
}

/* `registers` are as in ls_take_stack(). */
static __always_inline __u64 ls_wanted_x28(const bpf_user_pt_regs_t* registers,
                                           const struct ls_recipes* recipes) {
  if (!ls_wants_x28(recipes)) return 0;
  if (registers && (registers->pstate & 0xf) == 0) return registers->regs[28];
  if (!bpf_core_enum_value_exists(enum bpf_func_id___ls_x28, BPF_FUNC_task_pt_regs___ls_x28))
    return 0;
  return ls_saved_x28(bpf_get_current_task_btf());
}
#else
#define ls_saved_x28(task) 0
#define ls_wanted_x28(registers, recipes) 0
#endif

#endif /* LABELSCOPE_BPF_X28_BPF_H */
