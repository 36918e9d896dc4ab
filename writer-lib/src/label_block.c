/* Building of label blocks. Every function keeps the strings packed, so that the free space is one
 * piece at the end and a run of labels has its strings in one piece. */
#include "label_block.h"

#include "bytes.h"

/* A string descriptor as one vector, so that its length and pointer are moved by one load and one
 * store: half of the cost of copying a set, and what the next copy loads is what one store wrote
 * (no store-forwarding stall). */
_Static_assert(sizeof(two_words) == sizeof(custom_labels_string_t), "length and pointer");

static void put_string(custom_labels_string_t* to, size_t len, const unsigned char* buf) {
  const two_words words = {len, (uintptr_t)buf};
  memcpy(to, &words, sizeof words);
}

/* Copies labels; their strings lie `shift` bytes further on (modulo 2^64, so it may mean
 * backwards). Upwards through the arrays: `to` may overlap `from` from below. */
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

/* Where the block's strings began when its pointers were written. */
static uintptr_t origin(const struct label_block* block) {
  return (uintptr_t)(block->set.storage + block->set.capacity);
}

static uintptr_t shift_between(const struct label_block* to, const struct label_block* from) {
  return (uintptr_t)block_strings(to) - origin(from);
}

static void copy_strings(struct label_block* to, size_t at, const struct label_block* from,
                         size_t start, size_t end) {
  copy_bytes(block_strings(to) + at, block_strings(from) + start, end - start);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

void cl_block_init(struct label_block* block, size_t capacity) {
  block->set.storage = block->labels;
  block->set.count = 0;
  block->set.capacity = capacity;
}

size_t cl_block_bytes_before(const struct label_block* block, size_t n) {
  if (n == 0) return 0;
  const custom_labels_string_t* last = &block->labels[n - 1].value;
  return (uintptr_t)last->buf + last->len - origin(block);
}

size_t cl_block_bytes(const struct label_block* block) {
  return cl_block_bytes_before(block, block->set.count);
}

size_t cl_block_find(const struct label_block* block, custom_labels_string_t key) {
  size_t i = 0;
  while (i < block->set.count) {
    const custom_labels_string_t* candidate = &block->labels[i].key;
    if (candidate->len == key.len && equal_bytes(candidate->buf, key.buf, key.len)) break;
    i++;
  }
  return i;
}

void cl_block_take(struct label_block* to, const struct label_block* from,
                   struct block_relation* relation, size_t n) {
  const size_t first = smaller(relation->common, n);
  if (first < n) {
    const size_t start = cl_block_bytes_before(from, first);
    copy_labels(to->labels + first, from->labels + first, n - first, shift_between(to, from));
    copy_strings(to, start, from, start, cl_block_bytes_before(from, n));
  }
  to->set.count = n;
  *relation = (struct block_relation){.common = n, .one_value = false};
}

static void take_with_value(struct label_block* to, const struct label_block* from,
                            struct block_relation* relation, size_t index,
                            custom_labels_string_t value) {
  const custom_labels_label_t* old = &from->labels[index];
  const uintptr_t shift = shift_between(to, from);
  const size_t first = smaller(relation->common, index);
  const size_t start = cl_block_bytes_before(from, first);
  const size_t at = (uintptr_t)old->value.buf - origin(from);
  const size_t rest = at + old->value.len;
  copy_labels(to->labels + first, from->labels + first, index - first, shift);
  copy_strings(to, start, from, start, at);
  put_string(&to->labels[index].key, old->key.len,
             (const unsigned char*)((uintptr_t)old->key.buf + shift));
  put_string(&to->labels[index].value, value.len, block_strings(to) + at);
  copy_bytes(block_strings(to) + at, value.buf, value.len);
  copy_labels(to->labels + index + 1, old + 1, from->set.count - index - 1,
              shift + value.len - old->value.len);
  copy_strings(to, at + value.len, from, rest, cl_block_bytes(from));
  to->set.count = from->set.count;
  *relation = (struct block_relation){.common = index, .one_value = true};
}

enum block_change cl_block_take_with(struct label_block* to, const struct label_block* from,
                                     struct block_relation* relation, custom_labels_string_t key,
                                     custom_labels_string_t value, size_t limit) {
  const size_t index = cl_block_find(from, key);
  if (index == from->set.count) {
    if (index >= limit) return kBlockFull;
    cl_block_take(to, from, relation, index);
    cl_block_append(to, key, value);
    return kBlockAdded;
  }
  /* The value that differs is the one to be replaced, and it has the right length: all else is
   * there. This is what a program does that sets one label again and again. */
  if (relation->one_value && relation->common == index && to->labels[index].value.len == value.len)
    copy_bytes((unsigned char*)to->labels[index].value.buf, value.buf, value.len);
  else
    take_with_value(to, from, relation, index, value);
  return kBlockReplaced;
}

void cl_block_take_without(struct label_block* to, const struct label_block* from,
                           struct block_relation* relation, size_t index) {
  const size_t count = from->set.count;
  const size_t at = cl_block_bytes_before(from, index);
  const size_t rest = cl_block_bytes_before(from, index + 1);
  cl_block_take(to, from, relation, index);
  copy_labels(to->labels + index, from->labels + index + 1, count - index - 1,
              shift_between(to, from) + at - rest);
  copy_strings(to, at, from, rest, cl_block_bytes(from));
  to->set.count = count - 1;
}

void cl_block_append(struct label_block* block, custom_labels_string_t key,
                     custom_labels_string_t value) {
  unsigned char* end = block_strings(block) + cl_block_bytes(block);
  custom_labels_label_t* label = &block->labels[block->set.count];
  copy_bytes(end, key.buf, key.len);
  copy_bytes(end + key.len, value.buf, value.len);
  put_string(&label->key, key.len, end);
  put_string(&label->value, value.len, end + key.len);
  block->set.count++;
}

void cl_block_append_labels(struct label_block* block, const struct label_block* from,
                            size_t first) {
  const size_t n = from->set.count - first;
  const size_t start = cl_block_bytes_before(from, first);
  const size_t at = cl_block_bytes(block);
  copy_labels(block->labels + block->set.count, from->labels + first, n,
              shift_between(block, from) + at - start);
  copy_strings(block, at, from, start, cl_block_bytes(from));
  block->set.count += n;
}

/* Opens or closes a gap: the strings from `start` on move by `shift` bytes (modulo 2^64, as above),
 * and the labels from `first` on follow. */
static void move_tail(struct label_block* block, size_t start, size_t shift, size_t first) {
  unsigned char* strings = block_strings(block);
  memmove(strings + (start + shift), strings + start, cl_block_bytes(block) - start);
  copy_labels(block->labels + first, block->labels + first, block->set.count - first, shift);
}

enum block_change cl_block_put(struct label_block* block, struct block_relation* relation,
                               custom_labels_string_t key, custom_labels_string_t value,
                               size_t limit) {
  const size_t index = cl_block_find(block, key);
  if (index == block->set.count) {
    if (index >= limit) return kBlockFull;
    cl_block_append(block, key, value);
    relation->one_value = false;
    return kBlockAdded;
  }
  custom_labels_string_t* old = &block->labels[index].value;
  const size_t at = (uintptr_t)old->buf - origin(block);
  if (value.len != old->len) {
    move_tail(block, at + old->len, value.len - old->len, index + 1);
    put_string(old, value.len, old->buf);
  }
  copy_bytes(block_strings(block) + at, value.buf, value.len);
  *relation = (struct block_relation){smaller(relation->common, index), false};
  return kBlockReplaced;
}

void cl_block_drop(struct label_block* block, struct block_relation* relation, size_t index) {
  const size_t end = cl_block_bytes_before(block, index + 1);
  move_tail(block, end, cl_block_bytes_before(block, index) - end, index + 1);
  copy_labels(block->labels + index, block->labels + index + 1, block->set.count - index - 1, 0);
  block->set.count--;
  *relation = (struct block_relation){smaller(relation->common, index), false};
}
