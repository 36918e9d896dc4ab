// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// This object has the sampler's programs, which take samples. Each has a slot (wire.h), a kind of
// samples (sample_kind.h), and calls ls_take_sample(). Every early return has a counter.
//
// bpf/CMakeLists.txt compiles this file into six objects, and load/kernel.h chooses one of them,
// because libbpf refuses an object if the kernel lacks a function that the object names:
//
//   from Linux   defined
//   5.10         nothing
//   6.18         LS_WITH_RETRY and LS_BPF_LOOP: the kernel can repeat a read
//   7.0          LS_RETRY_IMPLICIT_ARGUMENT, too: the function for that has other arguments
//
// Each of these three also exists with LS_WITH_UNWIND, which takes stacks by call frame information
// (unwind.bpf.h).
//
// The order of the includes matters: types, then helpers, then what uses both.
// clang-format off
#include "bpf/programs/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/programs/take_sample.bpf.h"
#include "bpf/programs/thread_times.bpf.h"
#ifdef LS_WITH_RETRY
#include "bpf/programs/off_cpu.bpf.h"
#endif
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A perf event interrupts a CPU, so the thread there runs. */
SEC("perf_event")
int sample(struct bpf_perf_event_data* ctx) {
  const struct ls_moment moment = {.ctx = ctx, .registers = &ctx->regs, .kind = LS_ON_CPU};
  ls_take_sample(&moment, ls_slot_of(LS_PROGRAM_EVENT));
  return 0;
}
