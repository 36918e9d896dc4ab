/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* These structures are the labels of one thread as bytes. read_labels.bpf.h makes them; any
 * language that has C's structures can take them apart. They are plain C of fixed width, without
 * pointers, with explicit padding.
 *
 *   ls_label_head | block of publisher 0 | block of publisher 2 | ...    only those with labels
 *                  <----------------- head.size ----------------->
 *
 *   block:  ls_label_block | ls_label_ref[label_count] | strings, byte_count bytes | zeros
 *                                 |                       ^
 *                                 +-- offset, length -----+
 *
 *   raw block:  ls_label_block | byte_count bytes as they lie in the thread | zeros
 *
 * A raw block is of a label source whose labels are not strings in memory (enum ls_source). It
 * shows as one label without a key, whose value is these bytes; the source's documents define them.
 * ls_decode_labels() of labelscope.h makes labels of all blocks.
 *
 * Between the strings there may be bytes that belong to no label. The zeros fill the block up to a
 * multiple of 8, so every part starts 8-aligned if the head does. This takes the bytes apart:
 *
 *   struct ls_label_cursor cursor;
 *   struct ls_label_view label;
 *   const char* problem = ls_open_labels(&cursor, bytes, size);
 *   if (problem) ...
 *   while (ls_next_label(&cursor, &label)) use(label.key, label.key_length, label.value, ...);
 *
 * Keys and values are bytes of a foreign process, neither text nor zero-terminated: escape them
 * before you print them. Only the first of equal keys of one publisher counts (ABI v1,
 * "Interpretation of data"); ls_is_repeated() recognizes the others. If two publishers set the same
 * key, both count. */
#ifndef LABELSCOPE_LABEL_BLOCKS_H
#define LABELSCOPE_LABEL_BLOCKS_H

#include "labelscope/outcome.h"
#include "labelscope/tls_recipe.h"

#ifndef __VMLINUX_H__ /* bpftool's header, which has the kernel's types already */
#include <linux/types.h>
#endif

/* NOLINTBEGIN(modernize-*): this header is C. */

struct ls_label_head {
  __u32 flags; /* enum ls_sample_flag */
  __u16 outcome;
  __u16 block_count;
  __u32 size; /* size of all label blocks, a multiple of 8 */
  __u32 reserved;
};

struct ls_label_block {
  __u8 publisher;    /* index of the recipe that led to it */
  __u8 source;       /* enum ls_source; if it is not in LS_WORD_SOURCES, this is a raw block */
  __u16 label_count; /* 0 in a raw block */
  __u32 byte_count;
};

struct ls_label_ref {
  __u16 key_offset; /* offsets count from the first byte after the references */
  __u16 key_length;
  __u16 value_offset;
  __u16 value_length;
};

#ifdef __cplusplus
#define LS_ASSERT(condition) static_assert(condition, #condition)
#else
#define LS_ASSERT(condition) _Static_assert(condition, #condition)
#endif
LS_ASSERT(sizeof(struct ls_label_head) == 16);
LS_ASSERT(sizeof(struct ls_label_block) == 8);
LS_ASSERT(sizeof(struct ls_label_ref) == 8);
LS_ASSERT(__builtin_offsetof(struct ls_label_head, size) == 8);

#ifndef __bpf__ /* only user space takes them apart */

#include <stddef.h>
#include <string.h>

/* One label; points into the bytes that were opened. */
struct ls_label_view {
  const unsigned char* key;
  const unsigned char* value;
  __u16 key_length;
  __u16 value_length;
  __u8 publisher;
  /* if it is not in LS_WORD_SOURCES, there is no key, and the value is as in a raw block */
  __u8 source;
};

/* A place between two labels. */
struct ls_label_cursor {
  const unsigned char* block; /* first byte of the current block */
  const unsigned char* end;   /* end of the last block */
  __u32 next;                 /* index of the next label in the block */
  struct ls_label_block head; /* the block's head */
};

static inline struct ls_label_ref ls_ref_of(const unsigned char* block, __u32 index) {
  struct ls_label_ref ref;
  memcpy(&ref, block + sizeof(struct ls_label_block) + index * sizeof(ref), sizeof(ref));
  return ref;
}

static inline size_t ls_strings_offset(const struct ls_label_block* head) {
  return sizeof(*head) + head->label_count * sizeof(struct ls_label_ref);
}

static inline size_t ls_block_size(const struct ls_label_block* head) {
  size_t bytes = head->byte_count;
  return ls_strings_offset(head) + (bytes + 7) / 8 * 8;
}

static inline int ls_is_inside(size_t offset, size_t length, size_t size) {
  return length <= size && offset <= size - length;
}

static inline int ls_is_raw(const struct ls_label_block* head) {
  return !(LS_WORD_SOURCES & 1U << head->source);
}

/* Returns how many labels a block shows. */
static inline __u32 ls_shown_labels(const struct ls_label_block* head) {
  return ls_is_raw(head) ? head->byte_count != 0 : head->label_count;
}

static inline int ls_is_sound_block(const unsigned char* block, size_t room) {
  struct ls_label_block head;
  if (room < sizeof(head)) return 0;
  memcpy(&head, block, sizeof(head));
  if (head.publisher >= LS_MAX_PUBLISHERS || head.source >= LS_SOURCE_COUNT ||
      head.label_count > LS_MAX_LABELS || (ls_is_raw(&head) && head.label_count != 0) ||
      head.byte_count > LS_MAX_LABEL_BYTES || ls_block_size(&head) > room)
    return 0;
  for (__u32 i = 0; i < head.label_count; i++) {
    struct ls_label_ref ref = ls_ref_of(block, i);
    if (!ls_is_inside(ref.key_offset, ref.key_length, head.byte_count) ||
        !ls_is_inside(ref.value_offset, ref.value_length, head.byte_count))
      return 0;
  }
  return 1;
}

/* Puts the cursor before the first label. `bytes` are a ls_label_head and what follows it, exactly
 * `size` bytes, at any alignment. Returns null, or what is wrong with the bytes: "a wrong size".
 * This checks every offset, so the other functions need not. */
static inline const char* ls_open_labels(struct ls_label_cursor* cursor, const unsigned char* bytes,
                                         size_t size) {
  struct ls_label_head head;
  memset(cursor, 0, sizeof(*cursor));
  if (size < sizeof(head)) return "no label head";
  memcpy(&head, bytes, sizeof(head));
  bytes += sizeof(head);
  size -= sizeof(head);
  if (head.outcome >= LS_OUTCOME_COUNT) return "an unknown outcome";
  if (head.size != size || size % 8 != 0) return "labels of a wrong size";
  if (head.block_count > LS_MAX_PUBLISHERS) return "too many label blocks";
  if ((head.outcome == LS_LABELLED) != (head.block_count > 0))
    return "labels that contradict their outcome";
  const unsigned char* at = bytes;
  for (__u32 i = 0; i < head.block_count; i++) {
    struct ls_label_block block;
    if (!ls_is_sound_block(at, size)) return "a label block that contradicts itself";
    memcpy(&block, at, sizeof(block));
    at += ls_block_size(&block);
    size -= ls_block_size(&block);
  }
  if (size != 0) return "bytes behind its label blocks";
  cursor->block = bytes;
  cursor->end = at;
  if (bytes != at) memcpy(&cursor->head, bytes, sizeof(cursor->head));
  return NULL;
}

/* Shows the next label and moves past it. Returns 0 if there is none left. */
static inline int ls_next_label(struct ls_label_cursor* cursor, struct ls_label_view* label) {
  while (cursor->next == ls_shown_labels(&cursor->head)) {
    if (cursor->block == cursor->end) return 0;
    cursor->block += ls_block_size(&cursor->head);
    cursor->next = 0;
    if (cursor->block == cursor->end) {
      memset(&cursor->head, 0, sizeof(cursor->head));
      return 0;
    }
    memcpy(&cursor->head, cursor->block, sizeof(cursor->head));
  }
  struct ls_label_ref ref = {0, 0, 0, 0};
  if (ls_is_raw(&cursor->head))
    ref.value_length = cursor->head.byte_count;
  else
    ref = ls_ref_of(cursor->block, cursor->next);
  cursor->next++;
  const unsigned char* strings = cursor->block + ls_strings_offset(&cursor->head);
  label->key = strings + ref.key_offset;
  label->value = strings + ref.value_offset;
  label->key_length = ref.key_length;
  label->value_length = ref.value_length;
  label->publisher = cursor->head.publisher;
  label->source = cursor->head.source;
  return 1;
}

/* Returns whether the label that ls_next_label() has just shown repeats the key of an earlier label
 * of the same publisher. */
static inline int ls_is_repeated(const struct ls_label_cursor* cursor,
                                 const struct ls_label_view* label) {
  const unsigned char* strings = cursor->block + ls_strings_offset(&cursor->head);
  for (__u32 i = 0; i + 1 < cursor->next; i++) {
    struct ls_label_ref ref = ls_ref_of(cursor->block, i);
    if (ref.key_length == label->key_length &&
        memcmp(strings + ref.key_offset, label->key, label->key_length) == 0)
      return 1;
  }
  return 0;
}

#endif /* __bpf__ */

/* NOLINTEND(modernize-*) */
#endif /* LABELSCOPE_LABEL_BLOCKS_H */
