/* These functions build label blocks. Each keeps the strings packed, so that the free space is one
 * piece at the end and the strings of labels in a row are one piece too. */
#include "label_block.h"

/* Copies n labels and adds `shift` to the pointer of each string. The sum wraps at 2^64, so a huge
 * shift moves backwards. The first label is copied first, so the arrays may overlap if `to` begins
 * before `from`. */
static void copy_labels(custom_labels_label_t* to, const custom_labels_label_t* from, size_t n,
                        uintptr_t shift) {
  const two_words add = {0, shift};
  for (size_t i = 0; i < n; i++) {
    two_words key;
    two_words value;
    memcpy(&key, &from[i].key, sizeof key);
    memcpy(&value, &from[i].value, sizeof value);
    key += add;
    value += add;
    memcpy(&to[i].key, &key, sizeof key);
    memcpy(&to[i].value, &value, sizeof value);
  }
}

static uintptr_t shift_between(const struct label_block* to, const struct label_block* from) {
  return (uintptr_t)block_strings(to) - block_origin(from);
}

static void copy_strings(struct label_block* to, size_t at, const struct label_block* from,
                         size_t start, size_t end) {
  copy_bytes(block_strings(to) + at, block_strings(from) + start, end - start);
}

const custom_labels_label_t* cl_find_label(const custom_labels_labelset_t* labels,
                                           custom_labels_string_t key) {
  for (size_t i = 0; labels != NULL && i < labels->count; i++) {
    const custom_labels_string_t* candidate = &labels->storage[i].key;
    if (candidate->buf != NULL && candidate->len == key.len &&
        equal_bytes(candidate->buf, key.buf, key.len))
      return &labels->storage[i];
  }
  return NULL;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

void cl_block_init(struct label_block* block, size_t capacity) {
  block->set.storage = block->labels;
  block->set.count = 0;
  block->set.capacity = capacity;
}

void cl_block_take(struct label_block* to, const struct label_block* from,
                   struct block_relation* relation, size_t n) {
  if (!block_level(to, from, relation) && relation->common < n) {
    const size_t first = relation->common;
    const size_t start = block_bytes_before(from, first);
    copy_labels(to->labels + first, from->labels + first, n - first, shift_between(to, from));
    copy_strings(to, start, from, start, block_bytes_before(from, n));
  }
  to->set.count = n;
  relation->common = n;
  relation->rest = n == from->set.count ? kRestEqual : kRestUnknown;
}

void cl_block_take_with_value(struct label_block* to, const struct label_block* from,
                              struct block_relation* relation, size_t index,
                              custom_labels_string_t value) {
  const custom_labels_label_t* old = &from->labels[index];
  const uintptr_t shift = shift_between(to, from);
  const size_t first = smaller(relation->common, index);
  const size_t start = block_bytes_before(from, first);
  const size_t at = (uintptr_t)old->value.buf - block_origin(from);
  const size_t rest = at + old->value.len;
  copy_labels(to->labels + first, from->labels + first, index - first, shift);
  copy_strings(to, start, from, start, at);
  put_string(&to->labels[index].key, old->key.len,
             (const unsigned char*)((uintptr_t)old->key.buf + shift));
  put_string(&to->labels[index].value, value.len, block_strings(to) + at);
  copy_bytes(block_strings(to) + at, value.buf, value.len);
  copy_labels(to->labels + index + 1, old + 1, from->set.count - index - 1,
              shift + value.len - old->value.len);
  copy_strings(to, at + value.len, from, rest, block_bytes(from));
  to->set.count = from->set.count;
  relation->common = index;
  relation->rest = value.len == old->value.len ? kRestEqual + 1 : kRestMoved;
}

void cl_block_take_without(struct label_block* to, const struct label_block* from,
                           struct block_relation* relation, size_t index) {
  const size_t count = from->set.count;
  const size_t at = block_bytes_before(from, index);
  const size_t rest = block_bytes_before(from, index + 1);
  cl_block_take(to, from, relation, index);
  copy_labels(to->labels + index, from->labels + index + 1, count - index - 1,
              shift_between(to, from) + at - rest);
  copy_strings(to, at, from, rest, block_bytes(from));
  to->set.count = count - 1;
  relation->rest = kRestUnknown;
}

void cl_block_append_labels(struct label_block* block, const struct label_block* from,
                            size_t first) {
  const size_t n = from->set.count - first;
  const size_t start = block_bytes_before(from, first);
  const size_t at = block_bytes(block);
  copy_labels(block->labels + block->set.count, from->labels + first, n,
              shift_between(block, from) + at - start);
  copy_strings(block, at, from, start, block_bytes(from));
  block->set.count += n;
}

/* Opens or closes a gap: moves the strings from byte `start` to the end by `shift` bytes (which
 * wraps as above), and corrects the pointers of label `first` and all after it. */
static void move_tail(struct label_block* block, size_t start, size_t shift, size_t first) {
  unsigned char* strings = block_strings(block);
  memmove(strings + (start + shift), strings + start, block_bytes(block) - start);
  copy_labels(block->labels + first, block->labels + first, block->set.count - first, shift);
}

void cl_block_resize(struct label_block* block, struct block_relation* relation, size_t index,
                     custom_labels_string_t value) {
  custom_labels_string_t* old = &block->labels[index].value;
  const size_t at = (uintptr_t)old->buf - block_origin(block);
  move_tail(block, at + old->len, value.len - old->len, index + 1);
  put_string(old, value.len, old->buf);
  copy_bytes(block_strings(block) + at, value.buf, value.len);
  relation->common = smaller(relation->common, index);
  relation->rest = kRestUnknown;
}

void cl_block_drop(struct label_block* block, struct block_relation* relation, size_t index) {
  const size_t end = block_bytes_before(block, index + 1);
  move_tail(block, end, block_bytes_before(block, index) - end, index + 1);
  copy_labels(block->labels + index, block->labels + index + 1, block->set.count - index - 1, 0);
  block->set.count--;
  relation->common = smaller(relation->common, index);
  relation->rest = kRestUnknown;
}
