/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel adds up waits by label set, and a label set is up to some thousand bytes. So it gets a
 * number: a hash of the keys and values of all its labels, of their publishers, and of the process
 * and its program.
 *
 * The user may want few of the keys: others are left out, or the question is about one (--blame).
 * A number by these alone (ls_key_choice) is one for all sets that differ in nothing else.
 *
 *   block:  ls_label_block | ls_label_ref... | strings, and bytes that belong to no label
 *                                 |              ^^^
 *                                 +--------------+     only these count: the others may be anything
 *
 * Labels with one number are one label set to user space, so nobody who may choose labels (a user's
 * name, a route) may be able to choose two with one number. The hash is SipHash-1-3 (J.-P. Aumasson
 * and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012), with a secret key of 128 bits that
 * the recording draws. The key is in the state before the first word comes, and additions carry
 * what a difference becomes to places that depend on the state. A pseudorandom function is what
 * SipHash was made to be, and nobody has found two messages with one number without knowing the
 * key. (No target is shown a number, either.) One multiplication for each word is not enough: it
 * leaves a difference of bit 63 where it was, and the next word takes it back.
 *
 *   words:  choice  process  plan  { block  { length  key  value... } of each label } of each block
 *
 * The key is there by its own number, so that a label counts or not by one comparison.
 * What follows, and how much, is said by words before it: so words of one set are never the first
 * words of another one, and no length is needed at the end. By chance, two of a million sets have
 * one number in one of some 37,000,000 recordings.
 *
 * Observations without labels have the number of their outcome. */
#ifndef LABELSCOPE_BPF_LABEL_NUMBER_BPF_H
#define LABELSCOPE_BPF_LABEL_NUMBER_BPF_H

#include "bpf/wire/sip_hash.h"
#include "labelscope/read_labels.bpf.h"

/* Where the hash is among the labels. It is in map memory, of which the verifier knows no values:
 * those on the stack it would follow through each round. */
struct ls_numbering {
  struct ls_sip sip;
  struct ls_sip before; /* while a key gets its own number */
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
  const struct ls_key_choice* choice;
  struct ls_label_key key;
};

/* Mixes in the word of a string that begins here, unless the string ends before. The bytes behind a
 * string that fill its last word are masked away. Returns whether there may be another word. */
static __always_inline _Bool ls_add_word(const struct ls_labels* labels, struct ls_sip* sip,
                                         __u64 at, __u64 offset, __u64 length) {
  __u64 place = at + offset;
  __u64 word;
  ls_keep_together(place);
  if (offset >= length || place > LS_BLOCKS_LIMIT) return 0;
  __builtin_memcpy(&word, labels->blocks + place, sizeof(word));
  if (length - offset < 8) word &= ~0ULL >> (64 - 8 * (length - offset));
  ls_sip_add(sip, word);
  return 1;
}

/* One round is two words: most strings need no second round. */
LS_ROUND ls_add_words(__u32 i, void* argument) {
  const struct ls_rounds_of_number* rounds = (const struct ls_rounds_of_number*)argument;
  struct ls_numbering* state = rounds->state;
  struct ls_sip sip = state->sip;
  __u64 offset = 16 * (__u64)i;
  __u64 length = state->length;
  _Bool more = ls_add_word(rounds->labels, &sip, state->at, offset, length) &&
               ls_add_word(rounds->labels, &sip, state->at, offset + 8, length);
  state->sip = sip;
  return !more || offset + 16 >= length;
}

/* Mixes in the bytes of a string as words. */
static __always_inline void ls_add_string(struct ls_rounds_of_number* rounds, __u64 at,
                                          __u64 length) {
  struct ls_numbering* state = rounds->state;
  state->at = at;
  state->length = length;
  ls_each(LS_MAX_LABEL_BYTES / 16, ls_add_words, rounds);
}

/* Does what ls_sip_end() does, in its place. */
static __attribute__((noinline)) __u64 ls_end_number(struct ls_numbering* state) {
  if (!state) return 0; /* for the verifier */
  state->sip.v2 ^= 0xff;
  for (__u32 i = 0; i < 3; i++) {
    ls_sip_round(&state->sip);
    ls_reload();
  }
  return state->sip.v0 ^ state->sip.v1 ^ state->sip.v2 ^ state->sip.v3;
}

/* Returns the number of a key, which user space computes, too (load/key_choice.h). This and the
 * next are functions because all that call each other share 512 bytes of stack. */
static __attribute__((noinline)) __u64 ls_number_of_key(struct ls_rounds_of_number* rounds,
                                                        __u64 at, __u64 length) {
  if (!rounds) return 0; /* for the verifier */
  struct ls_numbering* state = rounds->state;
  state->before = state->sip;
  state->sip = ls_sip_begin(rounds->key);
  ls_sip_add(&state->sip, length);
  ls_add_string(rounds, at, length);
  __u64 number = ls_end_number(state);
  state->sip = state->before;
  return number;
}

/* Returns whether labels with this key count. */
static __attribute__((noinline)) long ls_is_chosen(const struct ls_key_choice* choice,
                                                   __u64 number) {
  if (!choice) return 0; /* for the verifier */
  _Bool is_named = 0;
  if (choice->how == LS_KEYS_ALL) return 1;
  for (__u32 i = 0; i < LS_MOST_CHOSEN_KEYS; i++) {
    is_named = choice->keys[i] == number;
    if (is_named) break;
  }
  return is_named == (choice->how == LS_KEYS_ONLY);
}

/* One round is one label, or the whole of a block whose labels are no strings. */
LS_ROUND ls_number_label(__u32 i, void* argument) {
  struct ls_rounds_of_number* rounds = (struct ls_rounds_of_number*)argument;
  const struct ls_key_choice* choice = rounds->choice;
  struct ls_numbering* state = rounds->state;
  __u64 at = state->block;
  struct ls_label_block block;
  (void)i;
  ls_keep_together(at);
  if (state->blocks_left == 0 || at > LS_BLOCKS_LIMIT) return 1;
  __builtin_memcpy(&block, rounds->labels->blocks + at, sizeof(block));
  __u64 strings = at + sizeof(block) + block.label_count * sizeof(struct ls_label_ref);
  __u64 text = strings;
  __u64 length = 0;
  if (state->next == 0) {
    __u64 bytes = block.label_count == 0 ? block.byte_count : 0;
    ls_sip_add(&state->sip, bytes << 40 | (__u64)state->blocks_left << 16 |
                                (__u64)block.publisher << 8 | block.source);
  }
  if (block.label_count == 0) {
    __u64 skipped = choice->skipped[block.source % LS_SOURCE_COUNT];
    text += skipped;
    if (skipped < block.byte_count) length = block.byte_count - skipped;
  } else {
    __u64 place = at + sizeof(block) + state->next * sizeof(struct ls_label_ref);
    struct ls_label_ref ref;
    ls_keep_together(place);
    if (place > LS_BLOCKS_LIMIT) return 1;
    __builtin_memcpy(&ref, rounds->labels->blocks + place, sizeof(ref));
    __u64 key = ls_number_of_key(rounds, strings + ref.key_offset, ref.key_length);
    if (ls_is_chosen(choice, key)) {
      ls_sip_add(&state->sip, 1ULL << 63 | ref.value_length);
      ls_sip_add(&state->sip, key);
      length = ref.value_length;
    }
    text += ref.value_offset;
    state->next++;
  }
  ls_add_string(rounds, text, length);
  if (state->next < block.label_count) return 0;
  state->block = strings + ((block.byte_count + 7ULL) & ~7ULL);
  state->next = 0;
  state->blocks_left--;
  return 0;
}

/* Returns the number of a reading's label set, by the labels of a choice. `process` and `plan` say
 * whose it is. */
static __always_inline __u64 ls_number_by(const struct ls_labels* labels,
                                          struct ls_numbering* state, struct ls_label_key key,
                                          __u64 process, __u64 plan,
                                          const struct ls_key_choice* choice) {
  if (labels->head.block_count == 0) return labels->head.outcome;
  struct ls_rounds_of_number rounds = {labels, state, choice, key};
  state->sip = ls_sip_begin(key);
  /* The numbers of two choices are never those of the same labels. */
  ls_sip_add(&state->sip, choice->how == LS_KEYS_ALL ? LS_CHOICE_OF_ALL : choice->which);
  ls_sip_add(&state->sip, process);
  ls_sip_add(&state->sip, plan);
  state->block = 0;
  state->next = 0;
  state->blocks_left = labels->head.block_count;
  ls_each(LS_MAX_PUBLISHERS * LS_MAX_LABELS, ls_number_label, &rounds);
  __u64 number = ls_end_number(state);
  return number < LS_FIRST_LABEL_NUMBER ? number + LS_FIRST_LABEL_NUMBER : number;
}

#endif /* LABELSCOPE_BPF_LABEL_NUMBER_BPF_H */
