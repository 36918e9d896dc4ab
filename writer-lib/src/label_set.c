/* This file has the memory and the changes of set objects. label_set.h says how a change of a
 * current set stays invisible until it is whole. */
#include "label_set.h"

#include <errno.h>
#include <stdlib.h>

#include "thread_state.h"

static bool is_current(const struct label_set* set) {
  return *current_slot(this_thread()) == set->live;
}

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
  if (is_current(set)) publish(thread->slot, NULL);
  /* The address may come back as another set, which this library did not make. */
  if (thread->shown == set->live) thread->shown = NULL;
  free(live_block(set));
  free(set->spare);
  free(set);
}

/* The reserve is half as much again, so that growing by one label at a time copies each only a few
 * times. */
static size_t with_reserve(size_t n) { return n < SIZE_MAX / 2 ? n + n / 2 : n; }

struct set_block* cl_set_take_spare(struct label_set* set, size_t labels, size_t bytes,
                                    struct block_relation* relation) {
  struct set_block* spare = set->spare;
  if (spare != NULL && spare->block.set.capacity >= labels && spare->room >= bytes) {
    *relation = set->relation;
    set->spare = NULL;
    return spare;
  }
  const struct set_block* live = live_block(set);
  const size_t capacity = live == NULL ? 0 : live->block.set.capacity;
  const size_t room = live == NULL ? 0 : live->room;
  struct set_block* block = allocate_block(set, labels > capacity ? with_reserve(labels) : capacity,
                                           bytes > room ? with_reserve(bytes) : room);
  if (block == NULL) return NULL;
  free(spare);
  set->spare = NULL;
  *relation = kUnrelated;
  return block;
}

void cl_set_switch(struct label_set* set, struct set_block* block, struct block_relation relation,
                   bool keep_old) {
  struct thread_state* thread = this_thread();
  struct set_block* old = live_block(set);
  const custom_labels_labelset_t* labels = block == NULL ? &set->handle.empty : &block->block.set;
  const bool current = is_current(set);
  /* This comes before the store that publishes: a signal handler that installs a set of its own and
   * puts this one back publishes what is live, and must not bring back the old block after that
   * store. */
  set->live = labels;
  if (current) {
    publish(thread->slot, labels);
    thread->shown = labels;
  }
  set->changes++;
  if (!keep_old || old == NULL) return;
  free(set->spare);
  set->spare = old;
  set->relation = relation;
}

/* Adds what a set needs at most to hold these labels too. Returns false if no memory could hold
 * them. */
static bool add_needs(const struct set_block* live, const custom_labels_label_t* labels, size_t n,
                      size_t* count, size_t* bytes) {
  *count = live == NULL ? 0 : live->block.set.count;
  *bytes = live == NULL ? 0 : block_bytes(&live->block);
  if (__builtin_add_overflow(*count, n, count)) return false;
  for (size_t i = 0; i < n; i++) {
    if (__builtin_add_overflow(*bytes, labels[i].key.len, bytes) ||
        __builtin_add_overflow(*bytes, labels[i].value.len, bytes))
      return false;
  }
  return true;
}

static bool are_valid(const custom_labels_label_t* labels, size_t n) {
  if (labels == NULL && n > 0) return false;
  for (size_t i = 0; i < n; i++) {
    if (labels[i].key.buf == NULL || !is_string(labels[i].value)) return false;
  }
  return true;
}

/* Returns whether the string is, or might be, one of the block's own. */
static bool lies_in(const struct set_block* block, custom_labels_string_t string) {
  const uintptr_t start = (uintptr_t)block_strings(&block->block);
  return (uintptr_t)string.buf >= start && (uintptr_t)string.buf < start + block->room;
}

static bool fits_in_place(const struct label_set* set, const struct set_block* live,
                          const custom_labels_label_t* labels, size_t n, size_t count,
                          size_t bytes) {
  if (live == NULL || is_current(set) || count > live->block.set.capacity || bytes > live->room)
    return false;
  for (size_t i = 0; i < n; i++) {
    if (lies_in(live, labels[i].key) || lies_in(live, labels[i].value)) return false;
  }
  return true;
}

/* Builds the set's labels and these in a block beside the live one. */
static int build_beside(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                        size_t count, size_t bytes, bool keep_old) {
  struct block_relation relation;
  struct set_block* to = cl_set_take_spare(set, count, bytes, &relation);
  if (to == NULL) return ENOMEM;
  const struct set_block* from = live_block(set);
  size_t next = 0;
  if (from == NULL) {
    to->block.set.count = 0;
  } else if (n == 1) {
    cl_block_take_with(&to->block, &from->block, &relation, labels[0].key, labels[0].value,
                       SIZE_MAX);
    next = 1;
  } else {
    cl_block_take(&to->block, &from->block, &relation, from->block.set.count);
  }
  for (; next < n; next++)
    block_put(&to->block, &relation, labels[next].key, labels[next].value, SIZE_MAX);
  cl_set_switch(set, to, relation, keep_old);
  set->relation = relation;
  return 0;
}

/* *old becomes the block with the labels from before. With `keep_old` the set keeps it, and the
 * change may happen in place. */
static inline __attribute__((always_inline)) int update_set(struct label_set* set,
                                                            const custom_labels_label_t* labels,
                                                            size_t n, bool keep_old,
                                                            struct set_block** old) {
  size_t count = 0;
  size_t bytes = 0;
  if (!are_valid(labels, n)) return EINVAL;
  struct set_block* live = *old = live_block(set);
  if (!add_needs(live, labels, n, &count, &bytes)) return ENOMEM;
  if (!keep_old || !fits_in_place(set, live, labels, n, count, bytes))
    return build_beside(set, labels, n, count, bytes, keep_old);
  for (size_t i = 0; i < n; i++)
    block_put(&live->block, &set->relation, labels[i].key, labels[i].value, SIZE_MAX);
  set->changes++;
  return 0;
}

int cl_set_update(struct label_set* set, const custom_labels_label_t* labels, size_t n) {
  struct set_block* old = NULL;
  return n == 0 ? 0 : update_set(set, labels, n, true, &old);
}

int cl_set_update_beside(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                         struct set_block** old) {
  return update_set(set, labels, n, false, old);
}

int cl_set_remove(struct label_set* set, custom_labels_string_t key) {
  if (key.buf == NULL) return EINVAL;
  struct set_block* live = live_block(set);
  const size_t index = live == NULL ? 0 : block_find(&live->block, key);
  if (live == NULL || index == live->block.set.count) return ENOENT;
  if (!is_current(set)) {
    cl_block_drop(&live->block, &set->relation, index);
    set->changes++;
    return 0;
  }
  struct block_relation relation;
  struct set_block* to =
      cl_set_take_spare(set, live->block.set.count, block_bytes(&live->block), &relation);
  if (to == NULL) return ENOMEM;
  cl_block_take_without(&to->block, &live->block, &relation, index);
  cl_set_switch(set, to, relation, true);
  return 0;
}

int cl_set_clear(struct label_set* set) {
  struct set_block* live = live_block(set);
  if (live == NULL) return 0;
  if (is_current(set)) {
    cl_set_switch(set, NULL, kUnrelated, true);
    return 0;
  }
  live->block.set.count = 0;
  set->relation = kUnrelated;
  set->changes++;
  return 0;
}
