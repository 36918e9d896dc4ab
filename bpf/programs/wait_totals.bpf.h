/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the totals of waits: nanoseconds, number, and lengths, by process, label set, system
 * call and kind. A label set is known by its number (label_number.bpf.h); the first wait with a
 * number sends the labels to user space:
 *
 *   labels --> ls_told_number() --> number --+
 *                   |                        +--> ls_add_waits() --> wait_totals
 *               LABEL_SET record             |
 *                                        length, kind, system call
 *
 * A program may have another label set for each request, so there may be more of them than the
 * kernel can keep. User space adds them up by the labels that it wants, and takes totals out while
 * the recording goes on:
 *
 *   generation 0   |--- totals are added ----|- quiet -| taken out
 *   generation 1                             |--------- totals are added ----------|- quiet -| ...
 *
 * It changes the generation of what is added from then on, and takes out those of the old one some
 * time later, when no program can still be about to add to one that it has found. For the same
 * reason the kernel forgets the numbers that have not come for longest: a label set that comes
 * again is sent again. */
#ifndef LABELSCOPE_BPF_WAIT_TOTALS_BPF_H
#define LABELSCOPE_BPF_WAIT_TOTALS_BPF_H

#include "bpf/programs/retry.bpf.h"

/* All waits that have ended. Its memory is there from the beginning, like that of every map which a
 * switch or a wake-up adds to: with interrupts off the kernel cannot get more, and what it keeps
 * for that moment is a few elements. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct ls_wait_key);
  __type(value, struct ls_wait_total);
  __uint(max_entries, 1);
} wait_totals SEC(".maps");

/* The generation of totals that are added now. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 1);
} wait_generation SEC(".maps");

/* What is known of totals beside their maps. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_totals_made);
  __uint(max_entries, 1);
} totals_made SEC(".maps");

/* The numbers of label sets that user space has been sent. Those that have not come for longest
 * make room for others. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __type(key, __u64);
  __type(value, __u8);
  __uint(max_entries, 1);
} label_numbers SEC(".maps");

/* Nothing writes here. It is not constant, because an object has no constants but `config`. */
static struct ls_wait_total ls_no_waits;

static __always_inline __u32 ls_generation(void) {
  __u32 zero = 0;
  const __u32* generation = bpf_map_lookup_elem(&wait_generation, &zero);
  return generation ? *generation : 0;
}

static __always_inline struct ls_totals_made* ls_totals_made(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&totals_made, &zero);
}

/* Adds `count` waits that are `ns` long together. It sets the generation of the key. */
static __always_inline void ls_add_waits(struct ls_wait_key* key, __u64 ns, __u32 count) {
  key->generation = ls_generation();
  struct ls_wait_total* total = bpf_map_lookup_elem(&wait_totals, key);
  if (!total) {
    struct ls_totals_made* made = ls_totals_made();
    if (!bpf_map_update_elem(&wait_totals, key, &ls_no_waits, BPF_NOEXIST) && made)
      __sync_fetch_and_add(&made->waits, 1);
    total = bpf_map_lookup_elem(&wait_totals, key);
    if (!total && made && key->part < LS_WAIT_PARTS)
      __sync_fetch_and_add(&made->untold_ns[key->part], ns);
  }
  if (!total) {
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
  __u64 number = ls_number_of_labels(&own->reading.labels, &own->numbering, ls_secret(),
                                     (__u64)own->exec_count << 32 | pid, own->plan);
  if (number < LS_FIRST_LABEL_NUMBER || bpf_map_lookup_elem(&label_numbers, &number)) return number;
  own->label_set.number = number;
  own->label_set.pid = pid;
  own->label_set.reserved = 0;
  if (!ls_send_labels_behind(own, &own->label_set.record, sizeof(own->label_set),
                             LS_RECORD_LABEL_SET)) {
    ls_count_other(LS_COUNT_DROPPED_LABEL_SETS);
    *untold = 1;
    return number;
  }
  /* Another thread with these labels may have sent them meanwhile, too, which does no harm. If it
   * relied on this record before there was one, its time could end under an unknown number. */
  bpf_map_update_elem(&label_numbers, &number, &told, BPF_ANY);
  return number;
}

static __always_inline __u64 ls_told_number(struct ls_scratch* own, __u32 pid) {
  _Bool untold = 0;
  return ls_number_to_tell(own, pid, &untold);
}

#endif /* LABELSCOPE_BPF_WAIT_TOTALS_BPF_H */
