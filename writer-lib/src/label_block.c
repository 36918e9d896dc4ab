/* Editing of an unpublished label block. Every function keeps the strings packed, so that the free
 * space is one piece at the end and copying a block is one copy of its strings. */
#include "label_block.h"

#include <string.h>

/* Length of the UTF-8 sequence that this byte leads; 1 for a byte that leads none. */
static size_t utf8_length(unsigned char lead) {
  if (lead >= 0xf0 && lead < 0xf8) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xc0 && lead < 0xe0) return 2;
  return 1;
}

bool cut_string(custom_labels_string_t* string, size_t limit) {
  if (string->len <= limit) return false;
  string->len = limit;
  /* At most the last three bytes that stay can be the head of a character whose rest is cut off. */
  for (size_t back = 1; back <= 3; back++) {
    unsigned char byte = string->buf[limit - back];
    if ((byte & 0xc0) == 0x80) continue;
    if (utf8_length(byte) > back) string->len = limit - back;
    break;
  }
  return true;
}

/* A string descriptor as one vector, so that its length and pointer are moved by one load and one
 * store: half of the cost of copying a set, and what the next copy loads is what one store wrote
 * (no store-forwarding stall). */
typedef uint64_t string_words __attribute__((vector_size(16)));
_Static_assert(sizeof(string_words) == sizeof(custom_labels_string_t), "length and pointer");

static void put_string(custom_labels_string_t* to, size_t len, const unsigned char* buf) {
  const string_words words = {len, (uintptr_t)buf};
  memcpy(to, &words, sizeof words);
}

/* Copies labels; their strings lie `shift` bytes further on (modulo 2^64, so it may mean
 * backwards). */
static void copy_labels(custom_labels_label_t* to, const custom_labels_label_t* from, size_t count,
                        uintptr_t shift) {
  const string_words offset = {0, shift};
  for (size_t i = 0; i < count; i++) {
    string_words key;
    string_words value;
    memcpy(&key, &from[i].key, sizeof key);
    memcpy(&value, &from[i].value, sizeof value);
    key += offset;
    value += offset;
    memcpy(&to[i].key, &key, sizeof key);
    memcpy(&to[i].value, &value, sizeof value);
  }
}

static size_t offset_of(const struct label_block* block, const unsigned char* string) {
  return (size_t)((uintptr_t)string - (uintptr_t)block->set.storage) - sizeof block->labels;
}

/* The labels' strings end where the last value ends. */
static size_t used_bytes(const struct label_block* block) {
  if (block->set.count == 0) return 0;
  const custom_labels_string_t* last = &block->labels[block->set.count - 1].value;
  return offset_of(block, last->buf) + last->len;
}

void block_init(struct label_block* to) {
  to->set.storage = to->labels;
  to->set.count = 0;
  to->set.capacity = CUSTOM_LABELS_THREAD_MAX_LABELS;
}

void block_copy(struct label_block* to, const struct label_block* from) {
  block_init(to);
  to->set.count = from->set.count;
  copy_labels(to->labels, from->labels, from->set.count,
              (uintptr_t)to->labels - (uintptr_t)from->set.storage);
  memcpy(to->bytes, from->bytes, used_bytes(from));
}

size_t block_find(const struct label_block* block, custom_labels_string_t key) {
  size_t i = 0;
  while (i < block->set.count) {
    const custom_labels_string_t* candidate = &block->labels[i].key;
    /* Keys of one length mostly differ in the last byte, which spares the call; a key has at least
     * one. */
    if (candidate->len == key.len && candidate->buf[key.len - 1] == key.buf[key.len - 1] &&
        memcmp(candidate->buf, key.buf, key.len) == 0)
      break;
    i++;
  }
  return i;
}

/* Writes to a block that may be empty the copy of `from` in which the value at `index` is another.
 */
static void copy_with_value(struct label_block* to, const struct label_block* from, size_t index,
                            custom_labels_string_t value) {
  const custom_labels_label_t* old = &from->labels[index];
  const uintptr_t shift = (uintptr_t)to->labels - (uintptr_t)from->set.storage;
  const size_t start = offset_of(from, old->value.buf);
  const size_t rest = start + old->value.len;
  to->set.count = from->set.count;
  copy_labels(to->labels, from->labels, index, shift);
  put_string(&to->labels[index].key, old->key.len,
             (const unsigned char*)((uintptr_t)old->key.buf + shift));
  put_string(&to->labels[index].value, value.len, to->bytes + start);
  copy_labels(to->labels + index + 1, old + 1, from->set.count - index - 1,
              shift + value.len - old->value.len);
  memcpy(to->bytes, from->bytes, start);
  if (value.len > 0) memcpy(to->bytes + start, value.buf, value.len);
  memcpy(to->bytes + start + value.len, from->bytes + rest, used_bytes(from) - rest);
}

static custom_labels_result_t append(struct label_block* block, custom_labels_string_t key,
                                     custom_labels_string_t value) {
  const size_t index = block->set.count;
  if (index == CUSTOM_LABELS_THREAD_MAX_LABELS) return CUSTOM_LABELS_FULL;
  unsigned char* end = block->bytes + used_bytes(block);
  memcpy(end, key.buf, key.len);
  if (value.len > 0) memcpy(end + key.len, value.buf, value.len);
  put_string(&block->labels[index].key, key.len, end);
  put_string(&block->labels[index].value, value.len, end + key.len);
  block->set.count = index + 1;
  return CUSTOM_LABELS_SET;
}

custom_labels_result_t block_copy_with(struct label_block* to, const struct label_block* from,
                                       custom_labels_string_t key, custom_labels_string_t value) {
  const size_t index = block_find(from, key);
  if (index < from->set.count) {
    block_init(to);
    copy_with_value(to, from, index, value);
    return CUSTOM_LABELS_REPLACED;
  }
  block_copy(to, from);
  return append(to, key, value);
}

/* Opens or closes a gap: what lies from `from` to the end of the strings moves by `shift` bytes
 * (modulo 2^64, as above), and the labels from `first` on follow. */
static void move_tail(struct label_block* block, const unsigned char* from, size_t shift,
                      size_t first) {
  const size_t start = offset_of(block, from);
  memmove(block->bytes + start + shift, from, used_bytes(block) - start);
  copy_labels(block->labels + first, block->labels + first, block->set.count - first, shift);
}

custom_labels_result_t block_put(struct label_block* block, custom_labels_string_t key,
                                 custom_labels_string_t value) {
  const size_t index = block_find(block, key);
  if (index == block->set.count) return append(block, key, value);
  custom_labels_string_t* old = &block->labels[index].value;
  if (value.len != old->len) {
    move_tail(block, old->buf + old->len, value.len - old->len, index + 1);
    put_string(old, value.len, old->buf);
  }
  if (value.len > 0) memcpy(block->bytes + offset_of(block, old->buf), value.buf, value.len);
  return CUSTOM_LABELS_REPLACED;
}

void block_drop(struct label_block* block, size_t index) {
  custom_labels_label_t* label = &block->labels[index];
  const size_t length = label->key.len + label->value.len;
  move_tail(block, label->key.buf + length, 0 - length, index + 1);
  memmove(label, label + 1, (block->set.count - index - 1) * sizeof *label);
  block->set.count--;
}
