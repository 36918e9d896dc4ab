/* A label block is one label set in one piece of memory, as readers get it: the header, the array,
 * and right behind the array's last place the strings, packed in the order of the labels (key 0,
 * value 0, key 1, ...). A reader needs one read for everything, or three.
 *
 *   0        24                                 24 + 32 x capacity
 *   +--------+---------+---------+-----+--------+--------------------------------------+
 *   | header | label 0 | label 1 | ... | unused | key 0 value 0 key 1 value 1 ... free |
 *   +--------+---------+---------+-----+--------+--------------------------------------+
 *
 * The functions here build in a block that no reader reads, mostly a copy of the published block
 * with one change. A set has a pair of blocks of one capacity that take turns. So the block that is
 * built in has the set from one change ago, which is most of the copy already: struct
 * block_relation says how much, and only the rest is copied. */
#ifndef CUSTOMLABELS_SRC_LABEL_BLOCK_H
#define CUSTOMLABELS_SRC_LABEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "customlabels/label_abi.h"

struct label_block {
  custom_labels_labelset_t set;
  custom_labels_label_t labels[];
};

/* What two blocks of a pair have in common. Each field is one word, stored and loaded whole: a load
 * of two stores would have to wait until they have left the core. */
struct block_relation {
  size_t common; /* labels at the start that have the same strings at the same places */
  size_t rest;   /* what is known of those behind them: enum block_rest, or more than that */
};

enum block_rest {
  kRestUnknown, /* nothing, not even whether the counts are the same */
  kRestMoved, /* The next value is another one, perhaps of another length. All else is the same, but
                 * what lies behind it may lie at another place. */
  kRestEqual  /* All is the same. With kRestEqual + n the next n labels may have other values, of
                 * the same lengths. */
};

static const struct block_relation kUnrelated = {0, kRestUnknown};

/* Returns whether this label's value is the one thing in which the blocks may differ. */
static inline bool only_value_differs(const struct block_relation* relation, size_t index) {
  return (relation->rest == kRestMoved || relation->rest == kRestEqual + 1) &&
         relation->common == index;
}

enum block_change { kBlockAdded, kBlockReplaced, kBlockFull };

static inline unsigned char* block_strings(const struct label_block* block) {
  return (unsigned char*)(block->labels + block->set.capacity);
}

/* Makes an empty set. The memory behind it has room for the labels and the strings that are to
 * come. */
void cl_block_init(struct label_block* block, size_t capacity);

/* These return the bytes of strings: those of the first n labels, and all. */
static inline size_t block_bytes_before(const struct label_block* block, size_t n) {
  if (n == 0) return 0;
  const custom_labels_string_t* last = &block->labels[n - 1].value;
  return (uintptr_t)last->buf + last->len - (uintptr_t)(block->set.storage + block->set.capacity);
}
static inline size_t block_bytes(const struct label_block* block) {
  return block_bytes_before(block, block->set.count);
}

/* Returns the index of the key among the first n labels, or n if it is not there. */
static inline size_t block_find_before(const struct label_block* block, size_t n,
                                       custom_labels_string_t key) {
  size_t i = 0;
  while (i < n) {
    const custom_labels_string_t* candidate = &block->labels[i].key;
    if (candidate->len == key.len && equal_bytes(candidate->buf, key.buf, key.len)) break;
    i++;
  }
  return i;
}
/* Returns the index of the key, or the count if it is not there. */
static inline size_t block_find(const struct label_block* block, custom_labels_string_t key) {
  return block_find_before(block, block->set.count, key);
}

/* Finds the label with the key in any set by the ABI: packed or not, with absent keys or without.
 */
const custom_labels_label_t* cl_find_label(const custom_labels_labelset_t* labels,
                                           custom_labels_string_t key);

/* Makes `to` the first n labels of `from`. `from` may have been moved since it was built: its
 * pointers are taken relative to its own storage pointer. The relation becomes that of the two. */
void cl_block_take(struct label_block* to, const struct label_block* from,
                   struct block_relation* relation, size_t n);

/* Makes `to` the copy of `from` in which the label at `index` has this value, which must not lie in
 * `to`. */
void cl_block_take_with_value(struct label_block* to, const struct label_block* from,
                              struct block_relation* relation, size_t index,
                              custom_labels_string_t value);

/* Makes `to` the copy of `from` without the label at `index`. */
void cl_block_take_without(struct label_block* to, const struct label_block* from,
                           struct block_relation* relation, size_t index);

/* These change a block in place, for calls that need several changes. The strings must not lie in
 * the block. Each change is taken out of the relation to the other block. */
void cl_block_resize(struct label_block* block, struct block_relation* relation, size_t index,
                     custom_labels_string_t value);
void cl_block_drop(struct label_block* block, struct block_relation* relation, size_t index);

/* A string descriptor is moved as one vector, so that its length and pointer take one load and one
 * store. That is half of the cost of copying a set, and the next copy loads what one store wrote
 * (no store-forwarding stall). */
_Static_assert(sizeof(two_words) == sizeof(custom_labels_string_t), "length and pointer");

static inline void put_string(custom_labels_string_t* to, size_t len, const unsigned char* buf) {
  const two_words words = {len, (uintptr_t)buf};
  memcpy(to, &words, sizeof words);
}

/* Returns where the block's strings began when its pointers were written. The block may have been
 * moved since then: its pointers still have the old addresses. */
static inline uintptr_t block_origin(const struct label_block* block) {
  return (uintptr_t)(block->set.storage + block->set.capacity);
}

/* If the blocks differ in the bytes of some values only, copies these. Returns whether the blocks
 * are equal then. */
static inline bool block_level(struct label_block* to, const struct label_block* from,
                               struct block_relation* relation) {
  if (relation->rest < kRestEqual) return false;
  const custom_labels_label_t* label = &from->labels[relation->common];
  for (; relation->rest > kRestEqual; relation->rest--, label++) {
    const size_t at = (uintptr_t)label->value.buf - block_origin(from);
    copy_bytes(block_strings(to) + at, block_strings(from) + at, label->value.len);
  }
  relation->common = from->set.count;
  return true;
}

/* Makes `to` the copy of `from` in which the label at `index` has this value, if `to` has
 * everything else already, and a value of this length there. Returns false if it has not. This is
 * the fast path: a program often sets the same labels again, to values of the same length. Only one
 * value's bytes are copied then, or those of two. */
static inline __attribute__((always_inline)) bool block_take_value(struct label_block* to,
                                                                   const struct label_block* from,
                                                                   struct block_relation* relation,
                                                                   size_t index,
                                                                   custom_labels_string_t value) {
  const bool is_same_again = only_value_differs(relation, index);
  if (!is_same_again && !block_level(to, from, relation)) return false;
  const custom_labels_string_t* old = &to->labels[index].value;
  if (old->len != value.len) return false;
  copy_bytes((unsigned char*)(uintptr_t)old->buf, value.buf, value.len);
  if (!is_same_again) {
    relation->common = index;
    relation->rest = kRestEqual + 1;
  }
  return true;
}

/* Writes a label behind the first n, without counting it: so nobody sees it yet. */
static inline void block_write_label(struct label_block* block, size_t n,
                                     custom_labels_string_t key, custom_labels_string_t value) {
  unsigned char* end = block_strings(block) + block_bytes_before(block, n);
  custom_labels_label_t* label = &block->labels[n];
  copy_bytes(end, key.buf, key.len);
  copy_bytes(end + key.len, value.buf, value.len);
  put_string(&label->key, key.len, end);
  put_string(&label->value, value.len, end + key.len);
}

/* Lets labels that were written be seen, all at once, also by a signal handler that interrupts. */
static inline void block_count(struct label_block* block, size_t n) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  block->set.count = n;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Adds a label whose key is not there. */
static inline void block_append(struct label_block* block, custom_labels_string_t key,
                                custom_labels_string_t value) {
  block_write_label(block, block->set.count, key, value);
  block->set.count++;
}

/* Makes `to` the copy of `from` in which the key has this value. `index` is where block_find has
 * found the key in `from`, or the count. The strings must not lie in `to`. */
static inline void block_take_with(struct label_block* to, const struct label_block* from,
                                   struct block_relation* relation, size_t index,
                                   custom_labels_string_t key, custom_labels_string_t value) {
  if (index == from->set.count) {
    cl_block_take(to, from, relation, index);
    block_append(to, key, value);
    relation->rest = kRestUnknown;
  } else if (!block_take_value(to, from, relation, index, value)) {
    cl_block_take_with_value(to, from, relation, index, value);
  }
}

/* Takes the change of the value at `index` out of the relation, if the length is what it was. */
static inline void relate_value(struct block_relation* relation, size_t index) {
  if (only_value_differs(relation, index)) return;
  if (relation->rest == kRestEqual) {
    relation->common = index;
    relation->rest = kRestEqual + 1;
    return;
  }
  const size_t first = relation->common < index ? relation->common : index;
  if (relation->rest > kRestEqual) {
    const size_t end = relation->common + (relation->rest - kRestEqual);
    relation->rest = kRestEqual + ((end > index + 1 ? end : index + 1) - first);
  } else {
    relation->rest = kRestUnknown;
  }
  relation->common = first;
}

/* Sets a label in place at the index where block_find has found the key, or the count. */
static inline void block_put_at(struct label_block* block, struct block_relation* relation,
                                size_t index, custom_labels_string_t key,
                                custom_labels_string_t value) {
  if (index == block->set.count) {
    block_append(block, key, value);
    relation->rest = kRestUnknown;
  } else if (block->labels[index].value.len == value.len) {
    copy_bytes((unsigned char*)(uintptr_t)block->labels[index].value.buf, value.buf, value.len);
    relate_value(relation, index);
  } else {
    cl_block_resize(block, relation, index, value);
  }
}

/* Sets a label in place: replaces its value or adds it. */
static inline enum block_change block_put(struct label_block* block,
                                          struct block_relation* relation,
                                          custom_labels_string_t key, custom_labels_string_t value,
                                          size_t limit) {
  const size_t index = block_find(block, key);
  const bool is_new = index == block->set.count;
  if (is_new && index >= limit) return kBlockFull;
  block_put_at(block, relation, index, key, value);
  return is_new ? kBlockAdded : kBlockReplaced;
}

/* Adds the labels of `from` from an index on, whose keys are not there. */
void cl_block_append_labels(struct label_block* block, const struct label_block* from,
                            size_t first);

#endif /* CUSTOMLABELS_SRC_LABEL_BLOCK_H */
