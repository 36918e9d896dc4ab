/* One label set in one piece of memory, as readers get it: header, array, and right behind it the
 * strings, packed end to end in the order of the labels (key 0, value 0, key 1, ...). A reader
 * needs one read for all, or three.
 *
 *   0        24                          344                                    4184
 *   +--------+---------------------------+--------------------------------------+
 *   | header | label 0 | label 1 | ... 9 | key 0 value 0 key 1 value 1 ... free |
 *   +--------+---------------------------+--------------------------------------+
 *
 * The functions here edit a block that nobody reads; thread_labels.c publishes it when it is
 * complete. */
#ifndef CUSTOMLABELS_SRC_LABEL_BLOCK_H
#define CUSTOMLABELS_SRC_LABEL_BLOCK_H

#include <stdbool.h>

#include "customlabels/writer.h"

struct label_block {
  custom_labels_labelset_t set;
  custom_labels_label_t labels[CUSTOM_LABELS_THREAD_MAX_LABELS];
  /* Ten labels at their limits fit exactly, so that a string never lacks room: only the count can
   * be full. */
  unsigned char bytes[CUSTOM_LABELS_THREAD_MAX_LABELS *
                      (CUSTOM_LABELS_THREAD_MAX_KEY + CUSTOM_LABELS_THREAD_MAX_VALUE)];
};
_Static_assert(sizeof(struct label_block) == CUSTOM_LABELS_THREAD_BLOCK_SIZE, "stated in writer.h");

/* Cuts the string to `limit` bytes, at a UTF-8 character boundary; true if it was longer. */
bool cut_string(custom_labels_string_t* string, size_t limit);

/* Makes `to` an empty set, or a copy of `from` with its pointers into itself. `from` may have been
 * moved since it was made: its pointers are taken relative to its own storage pointer. */
void block_init(struct label_block* to);
void block_copy(struct label_block* to, const struct label_block* from);

/* Index of the key, or the count if it is not there. The key is within its limit. */
size_t block_find(const struct label_block* block, custom_labels_string_t key);

/* A copy of `from` in which the key has this value; as block_copy and block_put, but what is
 * replaced is not copied. `from` has not been moved. After FULL `to` is a copy. */
custom_labels_result_t block_copy_with(struct label_block* to, const struct label_block* from,
                                       custom_labels_string_t key, custom_labels_string_t value);

/* Strings within their limits that do not lie in this block. SET, REPLACED or FULL (then nothing
 * changed). */
custom_labels_result_t block_put(struct label_block* block, custom_labels_string_t key,
                                 custom_labels_string_t value);

void block_drop(struct label_block* block, size_t index);

#endif /* CUSTOMLABELS_SRC_LABEL_BLOCK_H */
