/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of OpenTelemetry's thread context of node: an object of JavaScript leads to the
 * record. The object is in the map that node keeps for the asynchronous work that runs. The
 * reader's node_context/node_context.cc has the drawing and the same walk in C++; tests/native
 * compares the two. The record itself is that of otel_context.bpf.h.
 *
 *                                                               reads
 *   thread's entry -> frame -> map's table -> numbers            4
 *   bucket -> entry -> entry ...                                 2, and 1 for each that collides
 *   object -> record, or object -> fields -> record              1 or 2, and the record's */
#ifndef LABELSCOPE_NODE_CONTEXT_BPF_H
#define LABELSCOPE_NODE_CONTEXT_BPF_H

#include "labelscope/bpf/custom_labels.bpf.h"
#include "labelscope/bpf/otel_context.bpf.h"
#include "labelscope/tls_recipe.h"

/* At most so many entries of one bucket are looked at. A map has at most two for each bucket on
 * average. */
#define LS_NODE_CHAIN 32
#define LS_NODE_END_OF_CHAIN 0xffffffffU

struct ls_node_thread {
  __u64 slot;
  __u64 key_handle;
  __u32 hash;
  __u8 record_offset;
  __u8 reserved[3];
  __u64 undefined; /* or where it stands */
};
struct ls_node_numbers {
  __u64 elements;
  __u64 deleted;
  __u64 buckets;
};
struct ls_node_entry {
  __u64 key;
  __u64 value;
  __u64 next;
};
/* What one walk has read. It lies where its block comes afterwards, because the stack has no room.
 */
struct ls_node {
  struct ls_node_thread thread;
  struct ls_node_numbers numbers;
  struct ls_node_entry entry;
  __u64 entries; /* where they are */
  __u64 entry_count;
  __u64 key;
  __u64 word;
};
LS_ASSERT(sizeof(struct ls_node_thread) == 32);
LS_ASSERT(sizeof(struct ls_node) <= LS_BLOCK_LIMIT);

/* A pointer to an object of V8 ends in the bits 01; a small integer is in the upper half of a word.
 */
static __always_inline _Bool ls_is_node_object(__u64 word) { return (word & 3) == 1; }

/* The argument of a round. */
struct ls_rounds_of_node {
  const struct ls_memory* memory;
  struct ls_labels* out;
  __u32 outcome;
};

static __always_inline struct ls_node* ls_node_of(struct ls_labels* out) {
  return (struct ls_node*)ls_at(out, out->head.size);
}

/* Goes on to the entry that `next` names. */
LS_ROUND ls_follow_bucket(__u32 i, void* argument) {
  struct ls_rounds_of_node* rounds = (struct ls_rounds_of_node*)argument;
  (void)i;
  ls_reload();
  struct ls_node* node = ls_node_of(rounds->out);
  __u64 next = node->entry.next;
  if ((__u32)next) {
    rounds->outcome = LS_UNREADABLE_TORN;
    return 1;
  }
  next >>= 32;
  if (next == LS_NODE_END_OF_CHAIN) {
    rounds->outcome = LS_UNLABELLED;
    return 1;
  }
  if (next >= node->entry_count) return 1;
  if (!ls_read_user(rounds->memory, &node->entry, sizeof(node->entry),
                    node->entries + sizeof(node->entry) * next)) {
    rounds->outcome = LS_UNREADABLE_NOT_RESIDENT;
    return 1;
  }
  ls_reload();
  if (node->entry.key != node->key) return 0;
  rounds->outcome = LS_LABELLED;
  return 1;
}

/* Finds the entry of the key. After LS_LABELLED it is in node->entry. `numbers` is the address of
 * the table's numbers. */
static __always_inline __u32 ls_find_node_entry(const struct ls_memory* memory,
                                                struct ls_labels* out, __u64 numbers) {
  struct ls_node* node = ls_node_of(out);
  if (!ls_read_user(memory, &node->numbers, sizeof(node->numbers), numbers))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if ((__u32)(node->numbers.elements | node->numbers.deleted | node->numbers.buckets))
    return LS_UNREADABLE_TORN;
  __u64 buckets = node->numbers.buckets >> 32;
  if (buckets == 0 || buckets & (buckets - 1)) return LS_UNREADABLE_MALFORMED;

  __u64 heads = numbers + sizeof(node->numbers);
  node->entry_count = (node->numbers.elements >> 32) + (node->numbers.deleted >> 32);
  node->entries = heads + 8 * buckets;
  __u64 bucket = node->thread.hash & (buckets - 1);
  if (!ls_read_user(memory, &node->entry.next, sizeof(node->entry.next), heads + 8 * bucket))
    return LS_UNREADABLE_NOT_RESIDENT;
  struct ls_rounds_of_node rounds = {memory, out, LS_UNREADABLE_MALFORMED};
  ls_each(LS_NODE_CHAIN, ls_follow_bucket, &rounds);
  return rounds.outcome;
}

/* Finds the record. After LS_LABELLED its address is in `record`. */
static __always_inline __u32 ls_find_node_record(const struct ls_memory* memory,
                                                 struct ls_labels* out, __u64 offsets,
                                                 __u64 variable, __u64* record) {
  struct ls_node* node = ls_node_of(out);
  if (!ls_read_user(memory, &node->thread, sizeof(node->thread), variable))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if (node->thread.slot == 0) return LS_UNLABELLED;
  __u64 first = node->thread.record_offset ? node->thread.record_offset : offsets >> 32 & 0xffff;
  if (first == 0 || (offsets & 0xffff) == 0) return LS_UNREADABLE_NO_KEYS;
  if (!ls_is_node_object(node->thread.undefined) &&
      !ls_read_user(memory, &node->thread.undefined, sizeof(node->thread.undefined),
                    node->thread.undefined))
    return LS_UNREADABLE_NOT_RESIDENT;
  if (!ls_read_user(memory, &node->word, sizeof(node->word), node->thread.slot) ||
      !ls_read_user(memory, &node->key, sizeof(node->key), node->thread.key_handle))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if (node->word == node->thread.undefined) return LS_UNLABELLED;
  if (!ls_is_node_object(node->word)) return LS_UNREADABLE_MALFORMED;
  if (!ls_read_user(memory, &node->word, sizeof(node->word), node->word - 1 + (offsets & 0xffff)))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if (!ls_is_node_object(node->word)) return LS_UNREADABLE_MALFORMED;
  __u32 outcome = ls_find_node_entry(memory, out, node->word - 1 + (offsets >> 16 & 0xffff));
  if (outcome != LS_LABELLED) return outcome;

  ls_reload();
  node = ls_node_of(out);
  __u64 object = node->entry.value;
  if (object == node->thread.undefined) return LS_UNLABELLED;
  if (!ls_is_node_object(object)) return LS_UNREADABLE_MALFORMED;
  if (!ls_read_user(memory, &node->word, sizeof(node->word), object - 1 + first))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  __u64 second = offsets >> 48;
  if (second && !node->thread.record_offset) {
    if (node->word == 0) return LS_UNLABELLED;
    if (!ls_read_user(memory, &node->word, sizeof(node->word), node->word + second - 1))
      return LS_UNREADABLE_NOT_RESIDENT;
    ls_reload();
  }
  *record = node->word;
  return LS_LABELLED;
}

static __always_inline __u32 ls_walk_node_context(const struct ls_memory* memory,
                                                  struct ls_labels* out,
                                                  const struct ls_tls_recipe* recipe,
                                                  __u64 variable, __u32 publisher) {
  __u64 record = 0;
  __u32 outcome = ls_find_node_record(memory, out, recipe->parameters[0], variable, &record);
  if (outcome != LS_LABELLED) return outcome;
  return ls_read_otel_record(memory, out, record, publisher, LS_SOURCE_NODE);
}

#endif /* LABELSCOPE_NODE_CONTEXT_BPF_H */
