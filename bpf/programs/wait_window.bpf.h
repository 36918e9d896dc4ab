/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recording of waits may be cut into windows while threads wait (sampling/wait_cut.h):
 *
 *   cut at                   C1                    C2                    C3
 *   window       first       |      second         |      third          |     fourth
 *   thread A      |----------|------|              |                     |
 *   thread B                 |    |----------------|---------------------|---------|
 *
 * What of a wait lies before a cut is of the window that ends there, and the rest is of the next
 * one. Nobody stops threads for that, and a switch has no instruction that others must wait for:
 * it adds all that it adds to the sums of the window that it sees (one word, read once). User space
 * writes that word, lets kQuiet pass, and then reads the sums of the window before, to which nobody
 * adds any more, and the waits that were open at the cut:
 *
 *   the thread waits still       its entry has the beginning: L. From L until C is of the window
 *   it has come back since       it has left in `divided` what its entry had
 *
 * A thread that comes back behind a cut always leaves that, and never adds the time before the cut,
 * whether or not user space has read its entry by then: so that time counts once. It leaves it
 * before it takes `left_ns` back. So whoever reads `left_ns` first, and `divided` some time later,
 * finds one of them.
 *
 * Waits whose labels are still missing at a cut are user space's, too: the labels may come much
 * later. */
#ifndef LABELSCOPE_BPF_WAIT_WINDOW_BPF_H
#define LABELSCOPE_BPF_WAIT_WINDOW_BPF_H

#include "bpf/programs/retry.bpf.h"

/* The window that is there now: the time of the cut at which it has begun, by CLOCK_MONOTONIC, and
 * in place of its lowest bits the generation of totals (wait_totals.bpf.h). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, 1);
} wait_window SEC(".maps");

static __always_inline __u64 ls_window(void) {
  __u32 zero = 0;
  const volatile __u64* window = bpf_map_lookup_elem(&wait_window, &zero);
  return window ? *window : 0;
}

#endif /* LABELSCOPE_BPF_WAIT_WINDOW_BPF_H */
