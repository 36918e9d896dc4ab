// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Measures the parts of a sample: nothing, finding the variable, the stack, the labels (which
// begins with finding the variable), both, and labels read in the naive way (likewise).
// Each part has one body in two programs: hot_* repeats it within one run and takes the time
// itself, event_* runs it once for each event of a CPU. All code but the naive walk is the
// sampler's own.
// The order of the includes matters: types, then helpers, then headers that use both.
// clang-format off
#include "bpf/programs/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/programs/task.bpf.h"
#include "bpf/programs/stack.bpf.h"
#include "tests/bench/bench_wire.h"
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What the last run of a program saw, by which user space knows whether it did its work. */
struct bench_result result = {};

static __always_inline void bench_empty(void* ctx) { (void)ctx; }

static __always_inline void bench_stack(void* ctx) {
  struct ls_slot slot = ls_slot_of(LS_PROGRAM_EVENT);
  struct ls_scratch* own = ls_scratch_at(slot.index);
  if (!own) return;
  own->sample.stack = (struct ls_stack_head){};
  ls_end_chain(own,
               ls_append_stack(ctx, slot, own, BPF_F_USER_STACK, LS_COUNT_USER_STACK_FAILED));
  result.frames = own->sample.stack.user_frames;
}

/* Finds the process and its recipes, which the sampler does before the labels. */
static __always_inline struct ls_scratch* bench_begin(__u32 index) {
  struct ls_ids ids = ls_current_ids();
  struct ls_process* process = bpf_map_lookup_elem(&processes, &ids.pid);
  struct ls_scratch* own = ls_scratch_at(index);
  if (!process || !own) return 0;
  __builtin_memcpy(&own->reading.recipes, &process->recipes, sizeof(process->recipes));
  return own;
}

static __always_inline void bench_end(struct ls_scratch* own) {
  result.outcome = own->reading.labels.head.outcome;
  result.label_bytes = own->reading.walk.cursor;
  result.labels = own->reading.walk.label_count;
}

__attribute__((noinline)) __u32 bench_locate(__u32 index, __u64 thread_pointer) {
  struct ls_scratch* own = ls_scratch_at(index);
  struct ls_located where;
  if (!own) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_memory memory = {.fault = &own->reading.fault};
  ls_clear_labels(&own->reading.labels);
  own->reading.fault.size = 0;
  ls_locate(&memory, &own->reading.recipes.recipe[0], thread_pointer, 0, &where);
  own->reading.labels.head.outcome = where.outcome;
  return where.outcome;
}

static __always_inline void bench_find(void* ctx) {
  (void)ctx;
  __u32 index = bpf_get_smp_processor_id();
  struct ls_scratch* own = bench_begin(index);
  if (!own) return;
  bench_locate(index, ls_current_thread().pointer);
  bench_end(own);
}

static __always_inline void bench_labels(void* ctx) {
  (void)ctx;
  __u32 index = bpf_get_smp_processor_id();
  struct ls_scratch* own = bench_begin(index);
  if (!own) return;
  ls_read_labels(index, ls_current_thread().pointer);
  bench_end(own);
}

static __always_inline void bench_both(void* ctx) {
  bench_labels(ctx);
  bench_stack(ctx);
}

/* Makes one read each for the pointer, the set, every element, every key and every value. */
static __always_inline __u32 bench_naive_walk(const struct ls_memory* memory, struct ls_walk* walk,
                                              struct ls_labels* out, __u64 variable) {
  custom_labels_labelset_t set = {};
  __u64 address = 0;
  if (!ls_read_user(memory, &address, sizeof(address), variable)) return LS_UNREADABLE_NOT_RESIDENT;
  if (address == 0) return LS_UNLABELLED;
  if (!ls_read_user(memory, &set, sizeof(set), address)) return LS_UNREADABLE_NOT_RESIDENT;
  walk->label_count = set.count < LS_MAX_LABELS ? set.count : LS_MAX_LABELS;
  walk->refs = sizeof(struct ls_label_block);
  walk->strings = walk->refs + walk->label_count * sizeof(struct ls_label_ref);
  walk->cursor = 0;
  for (__u32 i = 0; i < LS_MAX_LABELS; i++) {
    custom_labels_label_t* slot = &walk->slots[0];
    ls_reload();
    if (i >= walk->label_count) break;
    if (!ls_read_user(memory, slot, sizeof(*slot), (__u64)(unsigned long)(set.storage + i)))
      return LS_UNREADABLE_NOT_RESIDENT;
    struct ls_label_ref* ref = ls_ref(walk, out, i);
    ref->key_offset = walk->cursor;
    ref->key_length = slot->key.len;
    if (!ls_copy_string(memory, walk, out, &slot->key)) return LS_UNREADABLE_NOT_RESIDENT;
    ref->value_offset = walk->cursor;
    ref->value_length = slot->value.len;
    if (!ls_copy_string(memory, walk, out, &slot->value)) return LS_UNREADABLE_NOT_RESIDENT;
  }
  out->head.block_count = 1;
  out->head.size = walk->strings + walk->cursor;
  return LS_LABELLED;
}

__attribute__((noinline)) __u32 bench_naive_observe(__u32 index, __u64 thread_pointer) {
  struct ls_scratch* own = ls_scratch_at(index);
  struct ls_located where;
  if (!own) return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_memory memory = {.fault = &own->reading.fault};
  ls_clear_labels(&own->reading.labels);
  own->reading.fault.size = 0;
  ls_locate(&memory, &own->reading.recipes.recipe[0], thread_pointer, 0, &where);
  if (where.outcome == LS_LABELLED)
    where.outcome =
        bench_naive_walk(&memory, &own->reading.walk, &own->reading.labels, where.address);
  own->reading.labels.head.outcome = where.outcome;
  return where.outcome;
}

static __always_inline void bench_naive(void* ctx) {
  (void)ctx;
  __u32 index = bpf_get_smp_processor_id();
  struct ls_scratch* own = bench_begin(index);
  if (!own) return;
  bench_naive_observe(index, ls_current_thread().pointer);
  bench_end(own);
}

#define BENCH_PROGRAMS(part)                        \
  SEC("raw_tp") int hot_##part(void* ctx) {         \
    __u64 start = bpf_ktime_get_ns();               \
    for (__u32 i = 0; i < BENCH_REPETITIONS; i++) { \
      ls_reload();                                  \
      bench_##part(ctx);                            \
    }                                               \
    result.elapsed_ns = bpf_ktime_get_ns() - start; \
    return 0;                                       \
  }                                                 \
  SEC("perf_event") int event_##part(void* ctx) {   \
    bench_##part(ctx);                              \
    return 0;                                       \
  }

BENCH_PROGRAMS(empty)
BENCH_PROGRAMS(find)
BENCH_PROGRAMS(stack)
BENCH_PROGRAMS(labels)
BENCH_PROGRAMS(both)
BENCH_PROGRAMS(naive)

/* Records that user space made are sent through the ring buffer as the sampler does. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct bench_record);
  __uint(max_entries, BENCH_RECORDS);
} records SEC(".maps");

SEC("raw_tp")
int emit(void* ctx) {
  (void)ctx;
  for (__u32 i = 0; i < BENCH_EMITTED; i++) {
    __u32 key = result.emitted % BENCH_RECORDS;
    struct bench_record* record = bpf_map_lookup_elem(&records, &key);
    if (!record) return 0;
    __u64 size = record->size;
    if (size == 0 || size > sizeof(record->bytes)) return 0;
    if (bpf_ringbuf_output(&ring, record->bytes, size, BPF_RB_NO_WAKEUP)) result.dropped++;
    result.emitted++;
  }
  return 0;
}
