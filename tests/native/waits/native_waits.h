/* What native_waits.c offers to the tests: the programs of bpf/programs/off_cpu.bpf.h,
 * blame.bpf.h and lifecycle.bpf.h, which run on a machine that the test makes. */
#pragma once

#include <linux/types.h>

#include "native/waits/fake_vmlinux.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program finds when it runs. */
struct fake_machine {
  struct task_struct* current;
  __u32 processor;
  __u64 now_ns;
  __u32 random;
};
extern struct fake_machine fake_machine;
extern struct ls_config config;

int fake_is_readable(const void* address, __u32 size);
/* Returns whether the memory is there now. */
int fake_bring_in(const void* address, __u32 size);
struct task_struct* bpf_task_from_vpid(int number);
void bpf_task_release(struct task_struct* task);

/* The arguments of a tracepoint are one behind the other. */
int on_switch(const __u64* arguments);
int on_block(const __u64* arguments);
int on_waking(const __u64* arguments);
int on_wakeup(const __u64* arguments);
int on_wakeup_new(const __u64* arguments);
int on_timer(const __u64* arguments);
int on_timer_end(const __u64* arguments);
int on_coarse_timer(const __u64* arguments);
int on_coarse_timer_end(const __u64* arguments);
struct bpf_raw_tracepoint_args;
int on_waiter_exit(struct bpf_raw_tracepoint_args* arguments);
int on_fork(struct bpf_raw_tracepoint_args* arguments);
int on_exec(struct bpf_raw_tracepoint_args* arguments);
int native_on_exit(struct bpf_raw_tracepoint_args* arguments);
int on_free(struct bpf_raw_tracepoint_args* arguments);

#ifdef __cplusplus
}
#endif
