/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This keeps what a walk has read (read_log.bpf.h) in a form that is fast to compare. A read of the
 * target's memory takes 90 ns, and hardly more if it is longer. So places that lie close together
 * are read at once, and a mask says which bytes of that count:
 *
 *   the walk's reads:   | variable |          | set, elements |                      | strings |
 *   ranges:             |<----------- first range ----------->|                      |<second->|
 *   mask:               |ff......ff|00......00|ff...........ff|                      |ff.....ff|
 *
 * That brings no page in doubt: a range is shorter than a page, so it has no page without a byte
 * that the walk has read. */
#ifndef LABELSCOPE_BPF_REMEMBERED_READS_BPF_H
#define LABELSCOPE_BPF_REMEMBERED_READS_BPF_H

#include "labelscope/read_labels.bpf.h"

#define LS_RANGES 6

struct ls_range {
  __u64 address;
  __u32 size;
  __u32 at; /* where its bytes are, a multiple of 16 */
};

struct ls_remembered {
  __u32 range_count; /* 0 if nothing is remembered */
  __u32 size;        /* how many bytes there are */
  struct ls_range ranges[LS_RANGES];
  __u8 bytes[LS_LOG_BYTES];
  __u8 mask[LS_LOG_BYTES];
};

/* What a thread is to remember is made here, because the verifier's bound of a place in it is that
 * of an offset plus that of a length. No program that uses it interrupts another one. */
struct ls_image {
  struct ls_remembered what;
  __u8 room[LS_LOG_BYTES];
};

/* Nothing writes here. It is not constant, because an object has no constants but `config`. */
static __u8 ls_ones[LS_LOG_BYTES] = {[0 ... LS_LOG_BYTES - 1] = 0xff};

/* Puts a read into the first range that it lies close to, or into a new one. */
static __always_inline void ls_join_read(struct ls_remembered* what, __u64 low, __u64 high) {
  for (__u32 i = 0; i < LS_RANGES; i++) {
    struct ls_range* range = &what->ranges[i];
    __u64 first = low;
    __u64 last = high;
    if (i < what->range_count) {
      if (range->address < first) first = range->address;
      if (range->address + range->size > last) last = range->address + range->size;
      if (last - first > LS_LOG_BYTES) continue;
    } else {
      what->range_count = i + 1;
    }
    range->address = first;
    range->size = last - first;
    return;
  }
}

/* Copies a read to where it is in its range. Returns false if it is in none. */
static __always_inline _Bool ls_place_read(struct ls_remembered* what,
                                           const struct ls_read_log* log,
                                           const struct ls_logged_read* read) {
  for (__u32 i = 0; i < LS_RANGES; i++) {
    const struct ls_range* range = &what->ranges[i];
    if (i >= what->range_count) break;
    __u64 ahead = read->address - range->address;
    if (ahead >= range->size || ahead + read->size > range->size) continue;
    __u64 to = range->at + ahead;
    __u64 from = read->at;
    __u64 size = read->size;
    ls_keep_together(to);
    ls_keep_together(from);
    ls_keep_together(size);
    if (from > LS_LOG_BYTES || size > LS_LOG_BYTES || to > LS_LOG_BYTES) return 0;
    if (to + size > LS_LOG_BYTES) return 0;
    bpf_probe_read_kernel(what->bytes + to, size, log->bytes + from);
    bpf_probe_read_kernel(what->mask + to, size, ls_ones);
    return 1;
  }
  return 0;
}

/* Lays the ranges out one behind the other. Returns false if there is no room for them. */
static __always_inline _Bool ls_lay_out(struct ls_remembered* what) {
  __u64 at = 0;
  for (__u32 i = 0; i < LS_RANGES; i++) {
    if (i >= what->range_count) break;
    what->ranges[i].at = at;
    at += (what->ranges[i].size + 15ULL) & ~15ULL;
  }
  what->size = at;
  return at <= LS_LOG_BYTES;
}

/* The argument of a round. */
struct ls_rounds_of_image {
  struct ls_remembered* what;
  const struct ls_read_log* log;
  _Bool failed;
};

LS_ROUND ls_join_round(__u32 i, void* argument) {
  struct ls_rounds_of_image* rounds = argument;
  if (i >= LS_LOG_READS || i >= rounds->log->count) return 1;
  const struct ls_logged_read* read = &rounds->log->reads[i];
  if (read->size) ls_join_read(rounds->what, read->address, read->address + read->size);
  return 0;
}

LS_ROUND ls_place_round(__u32 i, void* argument) {
  struct ls_rounds_of_image* rounds = argument;
  if (i >= LS_LOG_READS || i >= rounds->log->count) return 1;
  const struct ls_logged_read* read = &rounds->log->reads[i];
  if (read->size && !ls_place_read(rounds->what, rounds->log, read)) rounds->failed = 1;
  return 0;
}

/* Makes an image of what was read. Returns false if that is too much, or not the whole. */
static __always_inline _Bool ls_make_image(struct ls_image* image, const struct ls_read_log* log) {
  struct ls_rounds_of_image rounds = {&image->what, log, 0};
  image->what.range_count = 0;
  ls_each(LS_LOG_READS, ls_join_round, &rounds);
  if (log->count == 0 || !ls_lay_out(&image->what)) return 0;
  __builtin_memset(image->what.mask, 0, sizeof(image->what.mask));
  ls_each(LS_LOG_READS, ls_place_round, &rounds);
  return !rounds.failed;
}

/* Reads the remembered places again. */
static __always_inline _Bool ls_read_again(const struct ls_remembered* what,
                                           struct ls_read_log* again) {
  for (__u32 i = 0; i < LS_RANGES; i++) {
    const struct ls_range* range = &what->ranges[i];
    if (i >= what->range_count) break;
    __u64 at = range->at;
    __u64 size = range->size;
    ls_keep_together(at);
    ls_keep_together(size);
    if (at > LS_LOG_BYTES || size > LS_LOG_BYTES) return 0; /* for the verifier */
    if (bpf_probe_read_user(again->bytes + at, size, (const void*)range->address)) return 0;
  }
  return 1;
}

/* Returns whether the thread has the bytes that it remembers. */
static __attribute__((noinline)) long ls_has_same_bytes(const struct ls_remembered* what,
                                                        struct ls_read_log* again) {
  if (!what || !again) return 0; /* for the verifier */
  if (!ls_read_again(what, again)) return 0;
  __u64 differences = 0;
  for (__u32 i = 0; i < LS_LOG_BYTES; i += 16) {
    if (i >= what->size) break;
    const __u64* before = (const __u64*)(what->bytes + i);
    const __u64* now = (const __u64*)(again->bytes + i);
    const __u64* mask = (const __u64*)(what->mask + i);
    differences |= (before[0] ^ now[0]) & mask[0];
    differences |= (before[1] ^ now[1]) & mask[1];
  }
  return differences == 0;
}

#endif /* LABELSCOPE_BPF_REMEMBERED_READS_BPF_H */
