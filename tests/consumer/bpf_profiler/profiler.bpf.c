// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads at each event of a CPU the labels of the thread that runs there, if it is of a target.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <labelscope/read_labels.bpf.h>
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Process IDs are of this pid namespace: /proc/self/ns/pid.
const volatile __u64 namespace_device = 0;
const volatile __u64 namespace_inode = 0;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, __u32);
  __type(value, struct ls_recipes);
} recipes SEC(".maps");

struct entry {
  __u64 tid;
  struct ls_reading reading;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // user space sets it to the number of CPUs
  __type(key, __u32);
  __type(value, struct entry);
} entries SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} ring SEC(".maps");

static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
  struct entry* own = bpf_map_lookup_elem(&entries, &index);
  return own ? &own->reading : 0;
}

SEC("perf_event")
int sample(void* ctx __attribute__((unused))) {
  struct bpf_pidns_info ids = {};
  __u32 cpu = bpf_get_smp_processor_id();
  if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &ids, sizeof(ids)) != 0)
    return 0;
  struct ls_recipes* of_process = bpf_map_lookup_elem(&recipes, &ids.tgid);
  struct entry* own = bpf_map_lookup_elem(&entries, &cpu);
  if (!of_process || !own) return 0;
  own->tid = ids.pid;
  own->reading.recipes = *of_process;
  ls_read_labels(cpu, ls_current_thread_pointer());
  __u64 size = sizeof(own->tid) + sizeof(struct ls_label_head) + own->reading.labels.head.size;
  if (size > sizeof(own->tid) + sizeof(own->reading.labels)) return 0;  // the verifier needs this
  bpf_ringbuf_output(&ring, own, size, 0);
  return 0;
}
