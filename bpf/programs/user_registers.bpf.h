/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This has what programs need to read registers of user mode. An event that comes in user mode has
 * them. Otherwise the kernel has saved them when the task came from user mode, and since Linux 5.15
 * a helper returns their place. (unwind.bpf.h has a way for older kernels.)
 *
 * Register x28 is what recipes of kind LS_IN_REGISTER need: Go on aarch64 keeps the running
 * goroutine there. It is 0 if it is not known: always on x86-64, and in kernel mode before 5.15. */
#ifndef LABELSCOPE_BPF_USER_REGISTERS_BPF_H
#define LABELSCOPE_BPF_USER_REGISTERS_BPF_H

#include <linux/bpf_perf_event.h>

#include "labelscope/tls_recipe.h"

enum bpf_func_id___ls_regs { BPF_FUNC_task_pt_regs___ls_regs = 1 };

/* Returns whether the kernel has bpf_task_pt_regs(). libbpf decides that when it loads a program.
 * Then the verifier removes what is not for this kernel, and what the kernel may not know:
 * bpf_get_current_task_btf() is only a little older (5.11). */
static __always_inline _Bool ls_has_saved_registers(void) {
  return bpf_core_enum_value_exists(enum bpf_func_id___ls_regs, BPF_FUNC_task_pt_regs___ls_regs);
}

#if defined(__TARGET_ARCH_arm64)
#define LS_MODE(regs) (regs)->pstate
#define LS_IS_USER(mode) (((mode)&0xf) == 0) /* EL0 */
#define LS_IS_32_BIT(mode) ((mode)&0x10)

/* Returns the value that the kernel saved when the task last came from user mode. Only a kernel
 * with ls_has_saved_registers() loads a program that calls this. */
static __always_inline __u64 ls_saved_x28(struct task_struct* task) {
  __u64 value = 0;
  const struct user_pt_regs* saved = (const struct user_pt_regs*)bpf_task_pt_regs(task);
  if (!saved || bpf_probe_read_kernel(&value, sizeof(value), &saved->regs[28])) return 0;
  return value;
}

static __always_inline _Bool ls_wants_x28(const struct ls_recipes* recipes) {
  _Bool wants = 0;
  for (int i = 0; i < LS_MAX_PUBLISHERS; i++) wants |= recipes->recipe[i].kind == LS_IN_REGISTER;
  return wants;
}

/* Returns x28 of the current thread if a recipe needs it, else 0. `registers` are as in
 * ls_take_stack(). */
static __always_inline __u64 ls_wanted_x28(const bpf_user_pt_regs_t* registers,
                                           const struct ls_recipes* recipes) {
  if (!ls_wants_x28(recipes)) return 0;
  if (registers && LS_IS_USER(LS_MODE(registers))) return registers->regs[28];
  return ls_has_saved_registers() ? ls_saved_x28(bpf_get_current_task_btf()) : 0;
}
#else
#define LS_MODE(regs) (regs)->cs
#define LS_IS_USER(mode) (((mode)&3) == 3)
#define LS_IS_32_BIT(mode) ((mode) == 0x23) /* __USER32_CS */

#define ls_saved_x28(task) 0
#define ls_wanted_x28(registers, recipes) 0
#endif

#endif /* LABELSCOPE_BPF_USER_REGISTERS_BPF_H */
