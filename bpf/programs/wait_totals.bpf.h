/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the totals of waits: nanoseconds, number, and lengths, by process, label set, system
 * call and kind. A label set is known by its number (label_number.bpf.h); the first wait with a
 * number sends the labels to user space:
 *
 *   labels --> ls_told_number() --> number --+
 *                   |                        +--> ls_add_waits() --> wait_totals
 *               LABEL_SET record             |
 *                                        length, kind, system call */
#ifndef LABELSCOPE_BPF_WAIT_TOTALS_BPF_H
#define LABELSCOPE_BPF_WAIT_TOTALS_BPF_H

#include "bpf/programs/retry.bpf.h"

/* All waits that have ended. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct ls_wait_key);
  __type(value, struct ls_wait_total);
  __uint(max_entries, 1);
} wait_totals SEC(".maps");

/* Those for which `wait_totals` had no room. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_untold_waits);
  __uint(max_entries, 1);
} untold_waits SEC(".maps");

/* The numbers of label sets that user space has been sent. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, __u8);
  __uint(max_entries, 1);
} label_numbers SEC(".maps");

/* Returns the bucket of a length (sample_kind.h). */
static __always_inline __u32 ls_wait_bucket(__u64 ns) {
  __u32 bucket = 0;
  ns >>= LS_WAIT_SHORTEST_LOG2 + 1;
  for (__u32 step = 32; step != 0; step /= 2) {
    if (ns >> step == 0) continue;
    ns >>= step;
    bucket += step;
  }
  bucket += ns != 0;
  return bucket < LS_WAIT_BUCKETS ? bucket : LS_WAIT_BUCKETS - 1;
}

/* Nothing writes here. It is not constant, because an object has no constants but `config`. */
static struct ls_wait_total ls_no_waits;

/* Adds `count` waits that are `ns` long together. */
static __always_inline void ls_add_waits(const struct ls_wait_key* key, __u64 ns, __u32 count) {
  struct ls_wait_total* total = bpf_map_lookup_elem(&wait_totals, key);
  if (!total) {
    bpf_map_update_elem(&wait_totals, key, &ls_no_waits, BPF_NOEXIST);
    total = bpf_map_lookup_elem(&wait_totals, key);
  }
  if (!total) {
    __u32 zero = 0;
    struct ls_untold_waits* untold = bpf_map_lookup_elem(&untold_waits, &zero);
    if (untold && key->part < LS_WAIT_PARTS) __sync_fetch_and_add(&untold->ns[key->part], ns);
    ls_add_other(LS_COUNT_WAITS_WITHOUT_TOTAL, count);
    return;
  }
  __sync_fetch_and_add(&total->ns, ns);
  __sync_fetch_and_add(&total->count, count);
  __u32 bucket = ls_wait_bucket(ns / count);
  if (bucket < LS_WAIT_BUCKETS) __sync_fetch_and_add(&total->log2[bucket], count);
}

/* Returns the number of the labels in `own`. User space knows it, or will know it: but not if
 * `untold` says that the labels could not be sent. */
static __always_inline __u64 ls_number_to_tell(struct ls_scratch* own, __u32 pid, _Bool* untold) {
  const __u8 told = 1;
  __u64 number = ls_number_of_labels(&own->reading.labels, &own->numbering, config.label_key,
                                     (__u64)own->exec_count << 32 | pid, own->plan);
  if (number < LS_FIRST_LABEL_NUMBER || bpf_map_lookup_elem(&label_numbers, &number)) return number;
  if (bpf_map_update_elem(&label_numbers, &number, &told, BPF_ANY)) {
    ls_count_other(LS_COUNT_LABEL_SETS_WITHOUT_ROOM);
    *untold = 1;
    return LS_LABELS_WITHOUT_ROOM;
  }
  own->label_set.number = number;
  own->label_set.pid = pid;
  own->label_set.reserved = 0;
  if (!ls_send_labels_behind(own, &own->label_set.record, sizeof(own->label_set),
                             LS_RECORD_LABEL_SET)) {
    bpf_map_delete_elem(&label_numbers, &number);
    ls_count_other(LS_COUNT_DROPPED_LABEL_SETS);
    *untold = 1;
  }
  return number;
}

static __always_inline __u64 ls_told_number(struct ls_scratch* own, __u32 pid) {
  _Bool untold = 0;
  return ls_number_to_tell(own, pid, &untold);
}

#endif /* LABELSCOPE_BPF_WAIT_TOTALS_BPF_H */
