/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* These are the totals of waits: nanoseconds, number, and lengths, by process, label set, system
 * call and kind. A label set is known by its number (label_number.bpf.h); the first wait with a
 * number sends the labels to user space:
 *
 *   labels --> ls_name_labels() --> number --+
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
 * The generation is a part of the window (wait_window.bpf.h), and a cut changes it, too.
 *
 * It changes the generation of what is added from then on, and takes out those of the old one some
 * time later, when no program can still be about to add to one that it has found. For the same
 * reason the kernel forgets the numbers that have not come for longest: a label set that comes
 * again is sent again. */
#ifndef LABELSCOPE_BPF_WAIT_TOTALS_BPF_H
#define LABELSCOPE_BPF_WAIT_TOTALS_BPF_H

#include "bpf/programs/wait_window.bpf.h"

/* All waits that have ended. Its memory is there from the beginning, like that of every map which a
 * switch or a wake-up adds to: with interrupts off the kernel cannot get more, and what it keeps
 * for that moment is a few elements. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct ls_wait_key);
  __type(value, struct ls_wait_total);
  __uint(max_entries, 1);
} wait_totals SEC(".maps");

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
  __type(value, struct ls_published);
  __uint(max_entries, 1);
} label_numbers SEC(".maps");

/* The key is an enum ls_choice, or LS_CHOICE_OF_ALL. Nobody writes to the last one. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct ls_key_choice);
  __uint(max_entries, LS_CHOICE_OF_ALL + 1);
} key_choices SEC(".maps");

/* Nothing writes here. It is not constant, because an object has no constants but `config`. */
static struct ls_wait_total ls_no_waits;

/* Takes all of a sum to which programs add. */
static __always_inline __u64 ls_take(__u64* sum) { return __sync_lock_test_and_set(sum, 0); }

static __always_inline struct ls_totals_made* ls_totals_made(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&totals_made, &zero);
}

/* Adds waits of which nobody will know the label set. */
static __always_inline void ls_lose_waits(__u32 part, __u64 ns, __u64 count) {
  struct ls_totals_made* made = ls_totals_made();
  if (made && part < LS_WAIT_PARTS) __sync_fetch_and_add(&made->lost_ns[part], ns);
  ls_add_other(LS_COUNT_WAITS_WITHOUT_TOTAL, count);
}

/* Adds `count` waits that are `ns` long together, unless there is no room for their total. `length`
 * is that of each: a part of it may be in a window before. */
static __always_inline _Bool ls_try_waits(struct ls_wait_key* key, __u64 ns, __u64 count,
                                          __u64 length) {
  struct ls_wait_total* total = bpf_map_lookup_elem(&wait_totals, key);
  if (!total) {
    struct ls_totals_made* made = ls_totals_made();
    if (!bpf_map_update_elem(&wait_totals, key, &ls_no_waits, BPF_NOEXIST) && made)
      __sync_fetch_and_add(&made->waits, 1);
    total = bpf_map_lookup_elem(&wait_totals, key);
    if (!total) return 0;
  }
  __sync_fetch_and_add(&total->ns, ns);
  __sync_fetch_and_add(&total->count, count);
  __u32 bucket = ls_wait_bucket(length);
  if (bucket < LS_WAIT_BUCKETS) __sync_fetch_and_add(&total->log2[bucket], count);
  return 1;
}

static __always_inline void ls_add_waits(struct ls_wait_key* key, __u64 ns, __u64 count,
                                         __u64 length) {
  if (!ls_try_waits(key, ns, count, length)) ls_lose_waits(key->part, ns, count);
}

/* Returns whether blame is by some of the labels. */
static __always_inline _Bool ls_chooses_blame(void) {
  __u32 which = LS_CHOICE_OF_BLAME;
  if (!config.blame) return 0;
  const struct ls_key_choice* choice = bpf_map_lookup_elem(&key_choices, &which);
  return choice && choice->how != LS_KEYS_ALL;
}

/* Returns whether user space knows a label set by its number, or will know it. Fills in what else
 * the set is. A number that the kernel has forgotten may be forgotten there, too. */
static __always_inline _Bool ls_is_published(struct ls_numbers* numbers, _Bool by_choice) {
  if (numbers->labels < LS_FIRST_LABEL_NUMBER) {
    numbers->blame = numbers->labels;
    return 1;
  }
  const struct ls_published* known = bpf_map_lookup_elem(&label_numbers, &numbers->labels);
  if (!known || known->by_choice != by_choice) return 0;
  numbers->blame = known->blame;
  return 1;
}

/* Sends the labels in `own` under a number, unless user space has them. Returns false if there is
 * no room. Another thread with these labels may send them meanwhile, too, which does no harm. If it
 * relied on a record before there was one, its time could end under an unknown number. */
static __always_inline _Bool ls_name(struct ls_scratch* own, __u32 pid, __u64 number,
                                     const struct ls_published* as, __u32 choice) {
  if (!bpf_map_lookup_elem(&label_numbers, &number)) {
    own->label_set.number = number;
    own->label_set.pid = pid;
    own->label_set.life = own->life;
    own->label_set.choice = choice;
    if (!ls_send_labels_behind(own, &own->label_set.record, sizeof(own->label_set),
                               LS_RECORD_LABEL_SET)) {
      ls_count_other(LS_COUNT_DROPPED_LABEL_SETS);
      return 0;
    }
  }
  bpf_map_update_elem(&label_numbers, &number, as, BPF_ANY);
  return 1;
}

/* Returns the number of the labels in an entry of `scratch`, by a choice. At a function that gets
 * numbers alone, the verifier looks once, and not once for each place that calls it. */
__noinline __u64 ls_number_at(__u32 index, __u64 process, __u32 choice) {
  struct ls_scratch* own = ls_scratch_at(index);
  const struct ls_key_choice* by = bpf_map_lookup_elem(&key_choices, &choice);
  if (!own || !by) return LS_UNREADABLE_VANISHED;
  return ls_number_by(&own->reading.labels, &own->numbering, ls_secret(), process, own->plan, by);
}

/* Finds the numbers of the labels in an entry of `scratch`, and sends the labels if user space does
 * not know them by these. Returns false if they could not be sent. */
__noinline int ls_name_labels(__u32 index, __u32 pid) {
  struct ls_scratch* own = ls_scratch_at(index);
  if (!own) return 0;
  const _Bool by_choice = ls_chooses_blame();
  const __u64 process = (__u64)own->life << 32 | pid;
  struct ls_numbers numbers = {.labels = ls_number_at(index, process, LS_CHOICE_OF_WAITS)};
  ls_reload();
  if (ls_is_published(&numbers, by_choice)) {
    own->numbers = numbers;
    return 1;
  }
  struct ls_published both = {.blame = numbers.labels, .by_choice = by_choice};
  if (by_choice) both.blame = ls_number_at(index, process, LS_CHOICE_OF_BLAME);
  ls_reload();
  own->numbers.labels = numbers.labels;
  own->numbers.blame = both.blame;
  /* What user space knows by its first number, it knows by both. */
  return (!by_choice || ls_name(own, pid, both.blame, &both, LS_CHOICE_OF_BLAME)) &&
         ls_name(own, pid, numbers.labels, &both, LS_CHOICE_OF_WAITS);
}

#endif /* LABELSCOPE_BPF_WAIT_TOTALS_BPF_H */
