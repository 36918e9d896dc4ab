/* One label set in one piece of memory, as readers get it: header, array, and right behind the
 * array's last place the strings, packed end to end in the order of the labels (key 0, value 0, key
 * 1, ...). A reader needs one read for all, or three.
 *
 *   0        24                                 24 + 32 x capacity
 *   +--------+---------+---------+-----+--------+--------------------------------------+
 *   | header | label 0 | label 1 | ... | unused | key 0 value 0 key 1 value 1 ... free |
 *   +--------+---------+---------+-----+--------+--------------------------------------+
 *
 * The functions here build in a block that nobody reads, mostly as the copy of a published one with
 * one change. Sets come in pairs of blocks of one capacity that take turns, so what is built in is
 * the set of one change ago and has most of the copy already: struct block_relation says how much,
 * and only the rest is copied. */
#ifndef CUSTOMLABELS_SRC_LABEL_BLOCK_H
#define CUSTOMLABELS_SRC_LABEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "customlabels/label_abi.h"

struct label_block {
  custom_labels_labelset_t set;
  custom_labels_label_t labels[];
};

/* What two blocks of a pair have in common. */
struct block_relation {
  /* So many labels at the start have the same strings at the same places. */
  size_t common;
  /* The label after those has the same key, and all after it have the same strings, if at other
   * places; the counts are the same too. Only one value differs. */
  bool one_value;
};

enum block_change { kBlockAdded, kBlockReplaced, kBlockFull };

static inline unsigned char* block_strings(const struct label_block* block) {
  return (unsigned char*)(block->labels + block->set.capacity);
}

/* An empty set; the memory behind has room for the labels and the strings that are to come. */
void cl_block_init(struct label_block* block, size_t capacity);

/* Bytes of strings: of the first n labels, and of all. */
size_t cl_block_bytes_before(const struct label_block* block, size_t n);
size_t cl_block_bytes(const struct label_block* block);

/* Index of the key, or the count if it is not there. */
size_t cl_block_find(const struct label_block* block, custom_labels_string_t key);

/* Makes `to` the first n labels of `from`. `from` may have been moved since it was built: its
 * pointers are taken relative to its own storage pointer. The relation becomes that of the two. */
void cl_block_take(struct label_block* to, const struct label_block* from,
                   struct block_relation* relation, size_t n);

/* Makes `to` the copy of `from` in which the key has this value; kBlockFull if that were more than
 * `limit` labels (then `to` is neither this nor that). The strings do not lie in `to`. */
enum block_change cl_block_take_with(struct label_block* to, const struct label_block* from,
                                     struct block_relation* relation, custom_labels_string_t key,
                                     custom_labels_string_t value, size_t limit);

/* Makes `to` the copy of `from` without the label at `index`. */
void cl_block_take_without(struct label_block* to, const struct label_block* from,
                           struct block_relation* relation, size_t index);

/* Changes in place, for what needs several. The strings do not lie in the block. What has been done
 * is taken out of the relation to the other block. */
enum block_change cl_block_put(struct label_block* block, struct block_relation* relation,
                               custom_labels_string_t key, custom_labels_string_t value,
                               size_t limit);
void cl_block_drop(struct label_block* block, struct block_relation* relation, size_t index);

/* Adds a label whose key is not there. */
void cl_block_append(struct label_block* block, custom_labels_string_t key,
                     custom_labels_string_t value);

/* Adds the labels of `from` from an index on; their keys are not there. */
void cl_block_append_labels(struct label_block* block, const struct label_block* from,
                            size_t first);

#endif /* CUSTOMLABELS_SRC_LABEL_BLOCK_H */
