/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of custom labels, from the address of the variable to a label block
 * (label_blocks.h), by ABI v1 and within the bounds of outcome.h. The reader's
 * custom_labels/label_walk.h follows the same rules in C++; tests/native runs both on the same
 * memory and compares.
 *
 *                                                                  reads
 *   variable -> [ storage | count | capacity ]                     1 pointer, 1 set (with the
 *                  |                                                 elements behind it, if any)
 *                  +-> [ key.len key.buf value.len value.buf ]*    1 for all elements
 *                                |                 |
 *                                +-> bytes         +-> bytes       1 for all strings, or 1 each
 *
 * Why there are so few reads: most of a read's cost is the call, and hardly any is the bytes. So
 * strings that lie close together are read as one span, from the first byte of the first to the
 * last byte of the last.
 *
 * Why the cursors are in struct ls_walk and not in variables: the verifier follows every
 * combination of values that it finds in registers. It does not track what map memory contains. So
 * a cursor there costs it nothing, but each use must check the bound again (ls_reload, ls_at). */
#ifndef LABELSCOPE_CUSTOM_LABELS_BPF_H
#define LABELSCOPE_CUSTOM_LABELS_BPF_H

#include "customlabels/label_abi.h"
#include "labelscope/bpf/label_room.bpf.h"
#include "labelscope/bpf/read_user.bpf.h"

/* A span may also hold bytes that belong to no label: as many as the labels have, and this many
 * more. */
#define LS_SPAN_SLACK 512

/* The read of the set includes so many elements behind it. Some writers keep both in one block, and
 * then this saves a read. */
#define LS_SLOTS_AHEAD 10
/* That read stays within the set's page, because the next page might not be in memory. This is the
 * smallest page size of both processors. */
#define LS_PAGE_SIZE 4096

/* The state of one walk. */
struct ls_walk {
  __u64 low;  /* address of the first byte of all strings */
  __u64 high; /* address of the byte after the last */
  __u64 slot_count;
  __u64 label_count;
  __u64 label_bytes;
  __u64 flags;
  __u64 refs;                   /* where in `blocks` the references start */
  __u64 strings;                /* where the strings start */
  __u64 cursor;                 /* bytes of strings so far */
  __u64 block;                  /* where the block itself starts */
  __u64 slots_ahead;            /* elements that were read along with the set */
  custom_labels_labelset_t set; /* `slots` must follow: one read fills both (ls_read_set) */
  custom_labels_label_t slots[LS_MAX_SLOTS];
};

static __always_inline __u64 ls_address(const unsigned char* pointer) {
  return LS_UNTAGGED((__u64)(unsigned long)pointer);
}

static __always_inline _Bool ls_possible(const custom_labels_string_t* string) {
  __u64 address = ls_address(string->buf);
  return string->len < LS_ADDRESS_END && address < LS_ADDRESS_END &&
         address + string->len <= LS_ADDRESS_END;
}

static __always_inline void ls_widen(struct ls_walk* walk, const custom_labels_string_t* string) {
  __u64 address = ls_address(string->buf);
  if (string->len == 0) return; /* legal, and its pointer may point anywhere */
  if (address < walk->low) walk->low = address;
  if (address + string->len > walk->high) walk->high = address + string->len;
}

/* Keeps the element: moves it behind those that are kept already, at the front of `slots`. */
static __always_inline void ls_keep_slot(struct ls_walk* walk, const custom_labels_label_t* slot) {
  ls_reload();
  __u64 kept = walk->label_count;
  ls_keep_together(kept);
  if (kept >= LS_MAX_LABELS) return; /* for the verifier */
  custom_labels_label_t* place = &walk->slots[kept];
  if (place != slot) *place = *slot;
  walk->label_count++;
}

/* The argument of a round. */
struct ls_rounds_of_walk {
  const struct ls_memory* memory;
  struct ls_walk* walk;
  struct ls_labels* out;
  _Bool failed;
};

LS_ROUND ls_select_label(__u32 i, void* argument) {
  struct ls_rounds_of_walk* rounds = (struct ls_rounds_of_walk*)argument;
  struct ls_walk* walk = rounds->walk;
  ls_reload();
  if (i >= LS_MAX_SLOTS || i >= walk->slot_count) return 1;
  custom_labels_label_t* slot = &walk->slots[i];
  if (!slot->key.buf) return 0;
  if (!slot->value.buf) {
    walk->flags |= LS_NULL_VALUE;
    return 0;
  }
  if (!ls_possible(&slot->key) || !ls_possible(&slot->value)) {
    rounds->failed = 1;
    return 1;
  }
  if (walk->label_count >= LS_MAX_LABELS) {
    walk->flags |= LS_TRUNCATED_LABELS;
    return 1;
  }
  __u64 bytes = walk->label_bytes + slot->key.len + slot->value.len;
  if (bytes > LS_MAX_LABEL_BYTES) {
    walk->flags |= LS_TRUNCATED_BYTES;
    return 0;
  }
  walk->label_bytes = bytes;
  ls_widen(walk, &slot->key);
  ls_widen(walk, &slot->value);
  ls_keep_slot(walk, slot);
  return 0;
}

/* Moves the elements that become labels to the front. Returns false if one of them is impossible.
 */
static __always_inline _Bool ls_select_labels(struct ls_walk* walk) {
  struct ls_rounds_of_walk rounds = {0, walk, 0, 0};
  ls_each(LS_MAX_SLOTS, ls_select_label, &rounds);
  return !rounds.failed;
}

/* Copies one string to the end of the block. */
static __always_inline _Bool ls_copy_string(const struct ls_memory* memory, struct ls_walk* walk,
                                            struct ls_labels* out,
                                            const custom_labels_string_t* string) {
  __u64 length = string->len;
  if (length == 0) return 1;
  ls_keep_together(length);
  if (length > LS_MAX_LABEL_BYTES) return 0; /* for the verifier */
  if (!ls_read_user(memory, ls_at(out, walk->strings + walk->cursor), length,
                    ls_address(string->buf)))
    return 0;
  walk->cursor += length;
  return 1;
}

static __always_inline struct ls_label_ref* ls_ref(struct ls_walk* walk, struct ls_labels* out,
                                                   __u32 index) {
  return (struct ls_label_ref*)ls_at(out, walk->refs) + index;
}

LS_ROUND ls_read_one(__u32 i, void* argument) {
  struct ls_rounds_of_walk* rounds = (struct ls_rounds_of_walk*)argument;
  struct ls_walk* walk = rounds->walk;
  ls_reload();
  if (i >= LS_MAX_LABELS || i >= walk->label_count) return 1;
  custom_labels_label_t* slot = &walk->slots[i];
  struct ls_label_ref* ref = ls_ref(walk, rounds->out, i);
  ref->key_offset = walk->cursor;
  ref->key_length = slot->key.len;
  rounds->failed = 1;
  if (!ls_copy_string(rounds->memory, walk, rounds->out, &slot->key)) return 1;
  ref->value_offset = walk->cursor;
  ref->value_length = slot->value.len;
  if (!ls_copy_string(rounds->memory, walk, rounds->out, &slot->value)) return 1;
  rounds->failed = 0;
  return 0;
}

static __always_inline _Bool ls_read_each(const struct ls_memory* memory, struct ls_walk* walk,
                                          struct ls_labels* out) {
  struct ls_rounds_of_walk rounds = {memory, walk, out, 0};
  ls_each(LS_MAX_LABELS, ls_read_one, &rounds);
  return !rounds.failed;
}

LS_ROUND ls_refer_to_span(__u32 i, void* argument) {
  struct ls_rounds_of_walk* rounds = (struct ls_rounds_of_walk*)argument;
  struct ls_walk* walk = rounds->walk;
  ls_reload();
  if (i >= LS_MAX_LABELS || i >= walk->label_count) return 1;
  custom_labels_label_t* slot = &walk->slots[i];
  struct ls_label_ref* ref = ls_ref(walk, rounds->out, i);
  ref->key_offset = slot->key.len ? ls_address(slot->key.buf) - walk->low : 0;
  ref->key_length = slot->key.len;
  ref->value_offset = slot->value.len ? ls_address(slot->value.buf) - walk->low : 0;
  ref->value_length = slot->value.len;
  return 0;
}

/* Reads all strings as one span. Every page of the span has a byte of a label: it is one page long
 * at most, so it lies in the pages of its first and its last byte. */
static __always_inline _Bool ls_read_span(const struct ls_memory* memory, struct ls_walk* walk,
                                          struct ls_labels* out, __u64 span) {
  ls_keep_together(span);
  if (span > LS_MAX_LABEL_BYTES) return 0; /* for the verifier */
  if (!ls_read_user(memory, ls_at(out, walk->strings), span, walk->low)) return 0;
  struct ls_rounds_of_walk rounds = {memory, walk, out, 0};
  ls_each(LS_MAX_LABELS, ls_refer_to_span, &rounds);
  walk->cursor = span;
  return 1;
}

/* Appends the block for the selected labels. */
static __always_inline _Bool ls_read_strings(const struct ls_memory* memory, struct ls_walk* walk,
                                             struct ls_labels* out, __u32 publisher, __u32 source) {
  __u64 span = walk->high > walk->low ? walk->high - walk->low : 0;
  walk->block = out->head.size;
  walk->refs = walk->block + sizeof(struct ls_label_block);
  walk->strings = walk->refs + walk->label_count * sizeof(struct ls_label_ref);
  walk->cursor = 0;
  if (span > 0 && span <= LS_MAX_LABEL_BYTES && span <= 2 * walk->label_bytes + LS_SPAN_SLACK) {
    if (!ls_read_span(memory, walk, out, span)) return 0;
  } else if (!ls_read_each(memory, walk, out)) {
    return 0;
  }
  ls_reload();
  struct ls_label_block* block = (struct ls_label_block*)ls_at(out, walk->block);
  block->publisher = publisher;
  block->source = source;
  block->label_count = walk->label_count;
  block->byte_count = walk->cursor;
  ls_end_block(out, walk->strings + walk->cursor);
  return 1;
}

static __always_inline _Bool ls_read_set(const struct ls_memory* memory, struct ls_walk* walk,
                                         __u64 address) {
  __u64 size = LS_PAGE_SIZE - (address & (LS_PAGE_SIZE - 1));
  if (size > sizeof(walk->set) + LS_SLOTS_AHEAD * sizeof(walk->slots[0]))
    size = sizeof(walk->set) + LS_SLOTS_AHEAD * sizeof(walk->slots[0]);
  if (size >= sizeof(walk->set) &&
      ls_copy(memory, (__u8*)walk + __builtin_offsetof(struct ls_walk, set), size, address) == 0) {
    walk->slots_ahead = (size - sizeof(walk->set)) / sizeof(walk->slots[0]);
    return 1;
  }
  walk->slots_ahead = 0;
  return ls_read_user(memory, &walk->set, sizeof(walk->set), address);
}

static __always_inline _Bool ls_read_slots(const struct ls_memory* memory, struct ls_walk* walk,
                                           __u64 set, __u64 count) {
  __u64 address = (__u64)(unsigned long)walk->set.storage;
  if (LS_UNTAGGED(address) == LS_UNTAGGED(set) + sizeof(walk->set) && count <= walk->slots_ahead) {
    ls_look_at(memory, sizeof(walk->set) + count * sizeof(walk->slots[0]));
    return 1;
  }
  ls_look_at(memory, sizeof(walk->set));
  return ls_read_user(memory, walk->slots, count * sizeof(walk->slots[0]), address);
}

/* Fills `slots` with the elements that the variable at `variable` leads to. Returns LS_LABELLED if
 * there are some. */
static __always_inline __u32 ls_walk_labels(const struct ls_memory* memory, struct ls_walk* walk,
                                            __u64 variable) {
  __u64 address = 0;

  if (!ls_read_user(memory, &address, sizeof(address), variable)) return LS_UNREADABLE_NOT_RESIDENT;
  if (address == 0) return LS_UNLABELLED;
  if (!ls_read_set(memory, walk, address)) return LS_UNREADABLE_NOT_RESIDENT;
  if (walk->set.count == 0) {
    ls_look_at(memory, sizeof(walk->set));
    return LS_UNLABELLED;
  }
  if (!walk->set.storage) return LS_UNREADABLE_MALFORMED;

  __u64 count = walk->set.count;
  if (count > LS_MAX_SLOTS) {
    count = LS_MAX_SLOTS;
    walk->flags |= LS_TRUNCATED_SLOTS;
  }
  walk->slot_count = count;
  return ls_read_slots(memory, walk, address, count) ? LS_LABELLED : LS_UNREADABLE_NOT_RESIDENT;
}

/* Appends the labels in `slots` as the block of one publisher; or appends nothing, and returns the
 * reason. */
static __always_inline __u32 ls_read_elements(const struct ls_memory* memory, struct ls_walk* walk,
                                              struct ls_labels* out, __u32 publisher,
                                              __u32 source) {
  walk->low = ~0ULL;
  walk->high = 0;
  walk->label_count = 0;
  walk->label_bytes = 0;
  if (!ls_select_labels(walk)) return LS_UNREADABLE_MALFORMED;
  if (walk->label_count == 0) return LS_UNLABELLED;
  return ls_read_strings(memory, walk, out, publisher, source) ? LS_LABELLED
                                                               : LS_UNREADABLE_NOT_RESIDENT;
}

#endif /* LABELSCOPE_CUSTOM_LABELS_BPF_H */
