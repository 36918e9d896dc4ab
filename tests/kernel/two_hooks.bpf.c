// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Has two programs that take samples. System calls run with interrupts on, so a perf event often
// interrupts the other program.
// The order of the includes matters: types, then helpers, then headers that use both.
// clang-format off
#include "bpf/programs/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/programs/take_sample.bpf.h"
#include "tests/kernel/two_hooks_wire.h"
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int at_event(struct bpf_perf_event_data* ctx) {
  const struct ls_moment moment = {.ctx = ctx, .registers = &ctx->regs, .kind = LS_ON_CPU};
  ls_take_sample(&moment, ls_slot_of(LS_PROGRAM_EVENT));
  return 0;
}

SEC("raw_tp/sys_enter")
int at_call(void* ctx) {
  const struct ls_moment moment = {.ctx = ctx, .weight_ns = CALL_WEIGHT, .kind = LS_WAITING};
  const __u32 cpus = config.first_slot[LS_PROGRAM_SWITCH];
  const struct ls_slot slot = {CALL_PROGRAM, CALL_PROGRAM * cpus + bpf_get_smp_processor_id()};
  ls_take_sample(&moment, slot);
  return 0;
}
