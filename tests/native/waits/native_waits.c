/* The programs that measure waits, compiled for the host. */
/* Registers are those of x86-64 here, whatever the host is. */
#define __TARGET_ARCH_x86
#include "native/waits/fake_helpers.h"

/* A thread's work is the kernel's, as in a program. */
#define __bpf__ 1
#include "bpf/wire/wire.h"
#undef __bpf__

/* The C library has a function of this name. */
#define on_exit native_on_exit

#define LS_WITH_RETRY
#include "bpf/programs/take_sample.bpf.h"

#include "bpf/programs/off_cpu.bpf.h"

struct fake_machine fake_machine;
struct ls_config config;

int bpf_task_work_schedule_resume_impl(struct task_struct* task, struct bpf_task_work* work,
                                       void* map, bpf_task_work_callback_t callback, void* aux) {
  const struct fake_kind kind =
      map == (void*)&retries ? FAKE_KIND(&retries) : FAKE_KIND(&off_cpu_threads);
  (void)aux;
  return (int)fake_schedule(task, work, kind, callback);
}
