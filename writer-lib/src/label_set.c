/* This file has the memory and the changes of set objects. label_set.h says how a change of a
 * current set stays invisible until it is whole. */
#include "label_set.h"

#include <errno.h>
#include <stdlib.h>

static struct set_block* allocate_block(struct label_set* owner, size_t labels, size_t bytes) {
  size_t size = 0;
  if (__builtin_mul_overflow(labels, sizeof(custom_labels_label_t), &size) ||
      __builtin_add_overflow(size, bytes, &size) ||
      __builtin_add_overflow(size, sizeof(struct set_block), &size))
    return NULL;
  struct set_block* block = size > PTRDIFF_MAX ? NULL : malloc(size);
  if (block == NULL) return NULL;
  block->owner = owner;
  block->room = bytes;
  cl_block_init(&block->block, labels);
  return block;
}

struct label_set* cl_set_create(size_t capacity) {
  /* Nothing is known about the strings yet; this many bytes for each label are seldom too few. */
  enum { kUsualLabelBytes = 32 };
  struct label_set* set = malloc(sizeof *set);
  if (set == NULL) return NULL;
  *set = (struct label_set){.owner = set, .live = &set->handle.empty};
  handle_init_object(&set->handle);
  if (capacity == 0) return set;
  size_t bytes = 0;
  struct set_block* block = NULL;
  if (!__builtin_mul_overflow(capacity, kUsualLabelBytes, &bytes))
    block = allocate_block(set, capacity, bytes);
  if (block == NULL) {
    free(set);
    return NULL;
  }
  set->live = &block->block.set;
  return set;
}

void cl_set_free(struct label_set* set) {
  struct thread_state* thread = this_thread();
  if (is_current(thread, set)) publish(thread->slot, NULL);
  /* The address may come back as another set, which this library did not make. */
  if (thread->shown == set->live) thread->shown = NULL;
  free(live_block(set));
  free(set->spare);
  free(set);
}

/* The reserve is half as much again, so that growing by one label at a time copies each only a few
 * times. */
static size_t with_reserve(size_t n) { return n < SIZE_MAX / 2 ? n + n / 2 : n; }

struct set_block* cl_set_new_spare(struct label_set* set, size_t labels, size_t bytes) {
  const struct set_block* live = live_block(set);
  const size_t capacity = live == NULL ? 0 : live->block.set.capacity;
  const size_t room = live == NULL ? 0 : live->room;
  struct set_block* block = allocate_block(set, labels > capacity ? with_reserve(labels) : capacity,
                                           bytes > room ? with_reserve(bytes) : room);
  if (block == NULL) return NULL;
  free(set->spare);
  set->spare = block;
  set->relation = kUnrelated;
  return block;
}

/* Returns whether the string is, or might be, one of the block's own. */
static bool lies_in(const struct set_block* block, custom_labels_string_t string) {
  const uintptr_t start = (uintptr_t)block_strings(&block->block);
  return (uintptr_t)string.buf >= start && (uintptr_t)string.buf < start + block->room;
}

int cl_set_put_at(struct label_set* set, size_t index, custom_labels_string_t key,
                  custom_labels_string_t value) {
  struct thread_state* thread = this_thread();
  struct set_block* live = live_block(set);
  const bool is_new = index == set->live->count;
  const size_t count = set->live->count + (is_new ? 1 : 0);
  size_t bytes = live == NULL ? 0 : block_bytes(&live->block);
  if (!is_new) bytes -= live->block.labels[index].value.len;
  if ((is_new && __builtin_add_overflow(bytes, key.len, &bytes)) ||
      __builtin_add_overflow(bytes, value.len, &bytes))
    return ENOMEM;
  if (live != NULL && count <= live->block.set.capacity && bytes <= live->room &&
      !is_current(thread, set) && !lies_in(live, key) && !lies_in(live, value)) {
    block_put_at(&live->block, &set->relation, index, key, value);
    set->changes++;
    return 0;
  }
  struct set_block* to = spare_with_room(set, count, bytes);
  if (to == NULL) return ENOMEM;
  if (live == NULL) {
    to->block.set.count = 0;
    set->relation = kUnrelated;
    block_append(&to->block, key, value);
  } else {
    block_take_with(&to->block, &live->block, &set->relation, index, key, value);
  }
  set_switch(thread, set, to);
  set->spare = live;
  return 0;
}

/* Checks labels, and adds up what a set needs at most to hold them too. Returns 0, EINVAL, or
 * ENOMEM if no memory could hold them. */
static int add_needs(const struct set_block* live, const custom_labels_label_t* labels, size_t n,
                     size_t* count, size_t* bytes) {
  if (labels == NULL && n > 0) return EINVAL;
  *count = live == NULL ? 0 : live->block.set.count;
  *bytes = live == NULL ? 0 : block_bytes(&live->block);
  bool too_much = __builtin_add_overflow(*count, n, count);
  for (size_t i = 0; i < n; i++) {
    if (labels[i].key.buf == NULL || (labels[i].value.buf == NULL && labels[i].value.len > 0))
      return EINVAL;
    too_much |= __builtin_add_overflow(*bytes, labels[i].key.len, bytes);
    too_much |= __builtin_add_overflow(*bytes, labels[i].value.len, bytes);
  }
  return too_much ? ENOMEM : 0;
}

static bool fits_in_place(const struct set_block* live, const custom_labels_label_t* labels,
                          size_t n, size_t count, size_t bytes) {
  if (live == NULL || count > live->block.set.capacity || bytes > live->room) return false;
  for (size_t i = 0; i < n; i++) {
    if (lies_in(live, labels[i].key) || lies_in(live, labels[i].value)) return false;
  }
  return true;
}

/* Sets the labels in place. The two words of a descriptor are loaded one by one, as in
 * cut_string. */
static inline void put_all(struct label_block* block, struct block_relation* relation,
                           const custom_labels_label_t* labels, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const custom_labels_string_t key = {labels[i].key.len, labels[i].key.buf};
    const custom_labels_string_t value = {labels[i].value.len, labels[i].value.buf};
    block_put(block, relation, key, value, SIZE_MAX);
  }
}

/* Builds the set's labels and these in the spare block. Returns it, or null without memory. */
static inline struct set_block* build_spare(struct label_set* set, const struct set_block* live,
                                            const custom_labels_label_t* labels, size_t n,
                                            size_t count, size_t bytes) {
  struct set_block* to = spare_with_room(set, count, bytes);
  if (to == NULL) return NULL;
  if (live == NULL) {
    to->block.set.count = 0;
    set->relation = kUnrelated;
  } else {
    cl_block_take(&to->block, &live->block, &set->relation, live->block.set.count);
  }
  put_all(&to->block, &set->relation, labels, n);
  return to;
}

int cl_set_update(struct label_set* set, const custom_labels_label_t* labels, size_t n) {
  struct thread_state* thread = this_thread();
  struct set_block* live = live_block(set);
  size_t count = 0;
  size_t bytes = 0;
  if (n == 0) return 0;
  const int refused = add_needs(live, labels, n, &count, &bytes);
  if (refused != 0) return refused;
  if (!is_current(thread, set) && fits_in_place(live, labels, n, count, bytes)) {
    put_all(&live->block, &set->relation, labels, n);
    set->changes++;
    return 0;
  }
  struct set_block* to = build_spare(set, live, labels, n, count, bytes);
  if (to == NULL) return ENOMEM;
  set_switch(thread, set, to);
  set->spare = live;
  return 0;
}

int cl_set_update_beside(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                         struct set_block** old) {
  struct set_block* live = live_block(set);
  size_t count = 0;
  size_t bytes = 0;
  const int refused = add_needs(live, labels, n, &count, &bytes);
  if (refused != 0) return refused;
  struct set_block* to = build_spare(set, live, labels, n, count, bytes);
  if (to == NULL) return ENOMEM;
  set->spare = NULL;
  set_switch(this_thread(), set, to);
  *old = live;
  return 0;
}

int cl_set_remove(struct label_set* set, custom_labels_string_t key) {
  if (key.buf == NULL) return EINVAL;
  const size_t index = set_find(set, key);
  if (index == set->live->count) return ENOENT;
  struct thread_state* thread = this_thread();
  struct set_block* live = block_of_labels(set->live);
  if (!is_current(thread, set)) {
    cl_block_drop(&live->block, &set->relation, index);
    set->changes++;
    return 0;
  }
  struct set_block* to = spare_with_room(set, live->block.set.count, block_bytes(&live->block));
  if (to == NULL) return ENOMEM;
  cl_block_take_without(&to->block, &live->block, &set->relation, index);
  set_switch(thread, set, to);
  set->spare = live;
  return 0;
}

int cl_set_clear(struct label_set* set) {
  struct thread_state* thread = this_thread();
  struct set_block* live = live_block(set);
  if (live == NULL) return 0;
  set->relation = kUnrelated;
  if (!is_current(thread, set)) {
    live->block.set.count = 0;
    set->changes++;
    return 0;
  }
  set_switch(thread, set, NULL);
  free(set->spare);
  set->spare = live;
  return 0;
}
