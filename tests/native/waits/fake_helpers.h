/* What <bpf/bpf_helpers.h> and its neighbours give to BPF programs, as C of the host. */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>

#include "native/waits/fake_maps.h"
#include "native/waits/fake_vmlinux.h"
#include "native/waits/native_waits.h"

#define __BPF_HELPERS__
#define __BPF_TRACING_H__
#define __BPF_CORE_READ_H__

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))
#define __ksym
#define SEC(name)
#define __uint(name, number) int(*name)[number]
#define __type(name, type) __typeof__(type)* name

/* ---- atomic instructions */

#define __sync_fetch_and_add(place, more) \
  (fake_before_atomic(), __sync_fetch_and_add(place, more))
#define __sync_lock_test_and_set(place, value) \
  (fake_before_atomic(), __sync_lock_test_and_set(place, value))

/* ---- maps: the macros find out of which sizes a map is */

#define FAKE_NUMBER(map, name) (sizeof(*(map)->name) / sizeof(int))
#define FAKE_KIND(map)                                                                    \
  ((struct fake_kind){&#map[1], FAKE_NUMBER(map, type), sizeof(*(map)->key),              \
                      sizeof(*(map)->value), FAKE_NUMBER(map, max_entries)})
#define FAKE_STACK(map)                                                                   \
  ((struct fake_kind){&#map[1], FAKE_NUMBER(map, type), 0, sizeof(*(map)->value),         \
                      FAKE_NUMBER(map, max_entries)})
#define bpf_map_lookup_elem(map, key) fake_lookup(FAKE_KIND(map), key)
#define bpf_map_update_elem(map, key, value, flags) fake_update(FAKE_KIND(map), key, value, flags)
#define bpf_map_delete_elem(map, key) fake_delete(FAKE_KIND(map), key)
#define bpf_map_pop_elem(map, value) fake_pop(FAKE_STACK(map), value)
#define bpf_map_push_elem(map, value, flags) ((void)(flags), fake_push(FAKE_STACK(map), value))
#define bpf_task_storage_get(map, task, initial, flags)                                   \
  fake_storage((struct fake_kind){&#map[1], FAKE_NUMBER(map, type), sizeof(void*),        \
                                  sizeof(*(map)->value), 1},                              \
               task)
#define bpf_ringbuf_output(ring, record, size, flags) fake_send(record, size)
#define bpf_ringbuf_query(ring, what) 0ULL

/* ---- the kernel's types: all fields exist */

#define bpf_core_field_exists(field) 1
#define bpf_core_field_offset(type, field) offsetof(type, field)
#define bpf_core_type_size(type) sizeof(type)
#define FAKE_READ_2(a, b) ((a)->b)
#define FAKE_READ_3(a, b, c) ((a)->b->c)
#define FAKE_READ_4(a, b, c, d) ((a)->b->c->d)
#define FAKE_FIFTH(a, b, c, d, e, ...) e
#define BPF_CORE_READ(...) \
  FAKE_FIFTH(__VA_ARGS__, FAKE_READ_4, FAKE_READ_3, FAKE_READ_2, 0, 0)(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(object, field) ((object)->field)
#define BPF_CORE_READ_STR_INTO(to, object, ...) \
  memcpy(to, BPF_CORE_READ(object, __VA_ARGS__), sizeof(*(to)))

/* The arguments of a tracepoint lie one behind the other. */
#define FAKE_ARGUMENTS_1(a) (void*)context[0]
#define FAKE_ARGUMENTS_0() 
#define FAKE_ARGUMENTS_4(a, b, c, d) \
  (void*)context[0], (void*)context[1], (void*)context[2], (void*)context[3]
#define FAKE_SIXTH(zero, a, b, c, d, e, ...) e
#define FAKE_ARGUMENTS(...)                                                              \
  FAKE_SIXTH(0, ##__VA_ARGS__, FAKE_ARGUMENTS_4, 0, 0, FAKE_ARGUMENTS_1, FAKE_ARGUMENTS_0) \
  (__VA_ARGS__)
#define FAKE_COMMA(...) FAKE_SIXTH(0, ##__VA_ARGS__, FAKE_WITH, 0, 0, FAKE_WITH, FAKE_WITHOUT)
#define FAKE_WITH ,
#define FAKE_WITHOUT
#define BPF_PROG(name, ...)                                                              \
  name(const __u64* context);                                                            \
  static inline int fake_##name(const __u64* ctx, ##__VA_ARGS__);                        \
  int name(const __u64* context) {                                                       \
    _Pragma("GCC diagnostic push")                                                       \
    _Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                               \
    return fake_##name(context FAKE_COMMA(__VA_ARGS__) FAKE_ARGUMENTS(__VA_ARGS__));     \
    _Pragma("GCC diagnostic pop")                                                        \
  }                                                                                      \
  static inline int fake_##name(const __u64* ctx, ##__VA_ARGS__)

/* ---- the machine, as the test has set it */

static inline struct task_struct* bpf_get_current_task_btf(void) { return fake_machine.current; }
static inline __u64 bpf_get_current_task(void) { return (__u64)fake_machine.current; }
static inline __u64 bpf_get_current_pid_tgid(void) {
  const struct task_struct* task = fake_machine.current;
  return (__u64)task->tgid << 32 | (__u32)task->pid;
}
static inline long bpf_get_current_comm(void* out, __u32 size) {
  memcpy(out, fake_machine.current->comm, size);
  return 0;
}
static inline __u32 bpf_get_smp_processor_id(void) { return fake_machine.processor; }
static inline __u64 bpf_ktime_get_ns(void) { return fake_machine.now_ns; }
static inline __u64 bpf_jiffies64(void) { return fake_machine.now_ns / 4000000; }
static inline __u32 bpf_get_prandom_u32(void) { return fake_machine.random++ * 0x9e3779b1U; }
static inline struct fake_registers* bpf_task_pt_regs(struct task_struct* task) {
  return &task->registers;
}
static inline long bpf_probe_read_kernel(void* out, __u32 size, const void* from) {
  memcpy(out, from, size);
  return 0;
}
static inline long bpf_probe_read_user(void* out, __u32 size, const void* from) {
  if (fake_is_readable(from, size)) {
    memcpy(out, from, size);
    return 0;
  }
  memset(out, 0, size);
  return -14;
}
static inline long bpf_probe_read_user_str(void* out, __u32 size, const void* from) {
  (void)out, (void)size, (void)from;
  return -14; /* no label here is of that kind */
}
static inline long bpf_copy_from_user(void* out, __u32 size, const void* from) {
  if (!fake_bring_in(from, size)) return -14;
  memcpy(out, from, size);
  return 0;
}
/* No program supplies pages, and no stack can be read. */
static inline long bpf_find_vma(struct task_struct* task, __u64 address, void* callback,
                                void* argument, __u64 flags) {
  (void)task, (void)address, (void)callback, (void)argument, (void)flags;
  return -2;
}
static inline long bpf_get_stack(void* context, void* to, __u32 size, __u64 flags) {
  (void)context, (void)to, (void)size, (void)flags;
  return -14;
}
static inline long bpf_get_task_stack(struct task_struct* task, void* to, __u32 size,
                                      __u64 flags) {
  (void)task, (void)to, (void)size, (void)flags;
  return -14;
}
static inline long bpf_loop(__u32 most, long (*round)(__u32, void*), void* argument, __u64 flags) {
  (void)flags;
  for (__u32 i = 0; i < most; i++)
    if (round(i, argument)) return i + 1;
  return most;
}

/* ---- labelscope/bpf/thread_pointer.bpf.h, thread_number.bpf.h */

struct ls_memory;
static inline __u64 ls_thread_pointer(const struct task_struct* task) {
  return task->thread_pointer;
}
static inline __u64 ls_probe_thread_pointer(const struct task_struct* task) {
  return task->thread_pointer;
}
#define ls_has_current_task_btf() 1
static inline __u32 ls_own_number(const struct ls_memory* memory) {
  (void)memory;
  return (__u32)fake_machine.current->pid;
}
static inline _Bool ls_own_name(const struct ls_memory* memory, void* out) {
  (void)memory;
  memcpy(out, fake_machine.current->comm, 16);
  return 1;
}
static inline _Bool ls_is_first_thread(const struct ls_memory* memory) {
  (void)memory;
  return fake_machine.current->pid == fake_machine.current->tgid;
}

/* ---- bpf/programs/user_registers.bpf.h: no event interrupts code of user mode here */

#define LABELSCOPE_BPF_USER_REGISTERS_BPF_H
#define LS_MODE(regs) ((void)(regs), 0)
#define LS_IS_USER(mode) (((mode) & 3) == 3)
#define LS_IS_32_BIT(mode) ((mode) == 0x23)
#define ls_wanted_x28(registers, recipes) 0
