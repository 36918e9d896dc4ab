/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps that every program uses, the configuration, and counting. User space sets the sizes of
 * `processes`, `images`, `ring` and `scratch` before load. */
#ifndef LABELSCOPE_BPF_MAPS_BPF_H
#define LABELSCOPE_BPF_MAPS_BPF_H

#include "bpf/counters.h"
#include "bpf/observe.bpf.h"
#include "bpf/wire.h"

const volatile struct ls_config config = {};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, struct ls_process);
  __uint(max_entries, 4096);
} processes SEC(".maps");

/* How often each of them has replaced its program. Only the kernel side counts here: user space
 * replaces whole entries of `processes`, and an exec at that moment must not get lost. So the
 * recipes there say which image they are for, and are good as long as it is this one. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 4096);
} images SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 * 1024 * 1024);
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_counters);
  __uint(max_entries, LS_COUNTERS_ENTRIES);
} counters SEC(".maps");

/* One for each CPU, then those for repeated reads. Not a per-CPU map: a repeated read can be
 * preempted by another one and by a sample, so it needs one of its own. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_scratch);
  __uint(max_entries, 1);
} scratch SEC(".maps");

static __always_inline struct ls_scratch* ls_scratch_at(__u32 index) {
  return bpf_map_lookup_elem(&scratch, &index);
}

/* The current process, as the sample that is being made needs it. */
static __always_inline void ls_copy_process(struct ls_scratch* own,
                                            const struct ls_process* process, __u32 pid) {
  __u32* image = bpf_map_lookup_elem(&images, &pid);

  __builtin_memcpy(&own->process, process, sizeof(own->process));
  if (!image || *image != own->process.image) own->process.flags = LS_PROCESS_UNPLANNED;
  if (image) own->process.image = *image;
}

static __always_inline void ls_count_sampling(__u32 counter) {
  __u32 entry = LS_COUNTERS_SAMPLING;
  struct ls_counters* all = bpf_map_lookup_elem(&counters, &entry);
  if (all && counter < LS_COUNTER_COUNT) all->value[counter]++;
}

static __always_inline void ls_count_other(__u32 counter) {
  __u32 entry = LS_COUNTERS_OTHERS;
  struct ls_counters* all = bpf_map_lookup_elem(&counters, &entry);
  if (all && counter < LS_COUNTER_COUNT) __sync_fetch_and_add(&all->value[counter], 1);
}

#endif /* LABELSCOPE_BPF_MAPS_BPF_H */
