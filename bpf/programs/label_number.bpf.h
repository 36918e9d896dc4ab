/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel adds up waits by label set, and a label set is up to some thousand bytes. So it gets a
 * number: a hash of the keys and values of all its labels, of their publishers, and of the process
 * and its program. The hash begins with a secret of the recording, so a target cannot choose labels
 * whose numbers are equal; by chance, two of a million sets have one number in one of some
 * 37,000,000 recordings.
 *
 *   block:  ls_label_block | ls_label_ref... | strings, and bytes that belong to no label
 *                                 |              ^^^
 *                                 +--------------+     only these count: the others may be anything
 *
 * Observations without labels have the number of their outcome. */
#ifndef LABELSCOPE_BPF_LABEL_NUMBER_BPF_H
#define LABELSCOPE_BPF_LABEL_NUMBER_BPF_H

#include "labelscope/read_labels.bpf.h"

/* Where the hash is among the labels. It is in map memory, of which the verifier knows no values:
 * those on the stack it would follow through each round. */
struct ls_numbering {
  __u64 number;
  __u64 block;  /* where the current block begins */
  __u64 at;     /* where the string begins that is mixed in now */
  __u64 length; /* its length */
  __u32 next;   /* which label of the block comes next */
  __u32 blocks_left;
};

/* The argument of a round. */
struct ls_rounds_of_number {
  const struct ls_labels* labels;
  struct ls_numbering* state;
};

/* The multiplier is the odd number next to 2^64 divided by the golden ratio (D. Knuth, "The Art of
 * Computer Programming", 6.4). */
static __always_inline __u64 ls_mix(__u64 number, __u64 word) {
  number = (number ^ word) * 0x9e3779b97f4a7c15ULL;
  return number ^ number >> 29;
}

/* The bytes behind a string that fill its last word are masked away. */
LS_ROUND ls_mix_word(__u32 i, void* argument) {
  const struct ls_rounds_of_number* rounds = (const struct ls_rounds_of_number*)argument;
  struct ls_numbering* state = rounds->state;
  __u64 offset = 8 * (__u64)i;
  __u64 length = state->length;
  __u64 place = state->at + offset;
  __u64 word;
  ls_keep_together(place);
  if (offset >= length || place > LS_BLOCKS_LIMIT) return 1;
  __builtin_memcpy(&word, rounds->labels->blocks + place, sizeof(word));
  if (length - offset < 8) word &= ~0ULL >> (64 - 8 * (length - offset));
  state->number = ls_mix(state->number, word);
  return 0;
}

/* Mixes a string in: its length, and its bytes as words. */
static __always_inline void ls_mix_bytes(struct ls_rounds_of_number* rounds, __u64 at,
                                         __u64 length) {
  struct ls_numbering* state = rounds->state;
  state->number = ls_mix(state->number, length);
  state->at = at;
  state->length = length;
  ls_each(LS_MAX_LABEL_BYTES / 8, ls_mix_word, rounds);
}

/* One round is one label, or the whole of a block whose labels are no strings. */
LS_ROUND ls_number_label(__u32 i, void* argument) {
  struct ls_rounds_of_number* rounds = (struct ls_rounds_of_number*)argument;
  struct ls_numbering* state = rounds->state;
  __u64 at = state->block;
  struct ls_label_block block;
  (void)i;
  ls_keep_together(at);
  if (state->blocks_left == 0 || at > LS_BLOCKS_LIMIT) return 1;
  __builtin_memcpy(&block, rounds->labels->blocks + at, sizeof(block));
  __u64 strings = at + sizeof(block) + block.label_count * sizeof(struct ls_label_ref);
  if (state->next == 0) {
    __u64 whose = 1ULL << 32 | (__u64)block.publisher << 8 | block.source;
    state->number = ls_mix(state->number, whose);
  }
  if (block.label_count == 0) {
    ls_mix_bytes(rounds, strings, block.byte_count);
  } else {
    __u64 place = at + sizeof(block) + state->next * sizeof(struct ls_label_ref);
    struct ls_label_ref ref;
    ls_keep_together(place);
    if (place > LS_BLOCKS_LIMIT) return 1;
    __builtin_memcpy(&ref, rounds->labels->blocks + place, sizeof(ref));
    ls_mix_bytes(rounds, strings + ref.key_offset, ref.key_length);
    ls_mix_bytes(rounds, strings + ref.value_offset, ref.value_length);
    state->next++;
    if (state->next < block.label_count) return 0;
  }
  state->block = strings + ((block.byte_count + 7ULL) & ~7ULL);
  state->next = 0;
  state->blocks_left--;
  return 0;
}

/* Returns the number of a reading's label set. `seed` is the recording's secret, with the process
 * mixed in. */
static __always_inline __u64 ls_number_of_labels(const struct ls_labels* labels,
                                                 struct ls_numbering* state, __u64 seed) {
  if (labels->head.block_count == 0) return labels->head.outcome;
  struct ls_rounds_of_number rounds = {labels, state};
  state->number = seed;
  state->block = 0;
  state->next = 0;
  state->blocks_left = labels->head.block_count;
  ls_each(LS_MAX_PUBLISHERS * LS_MAX_LABELS, ls_number_label, &rounds);
  return state->number < LS_FIRST_LABEL_NUMBER ? state->number + LS_FIRST_LABEL_NUMBER
                                               : state->number;
}

#endif /* LABELSCOPE_BPF_LABEL_NUMBER_BPF_H */
