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

struct label_set* cl_set_create(size_t capacity, const struct label_block* from) {
  /* If nothing is known about the strings yet, this many bytes for each label are seldom too few.
   */
  enum { kUsualLabelBytes = 32 };
  struct label_set* set = malloc(sizeof *set);
  if (set == NULL) return NULL;
  *set = (struct label_set){.owner = set, .live = &set->handle.empty};
  handle_init_object(&set->handle);
  if (capacity == 0) return set;
  size_t bytes = 0;
  struct set_block* block = NULL;
  if (!__builtin_mul_overflow(capacity, kUsualLabelBytes, &bytes)) {
    const size_t needed = from == NULL ? 0 : block_bytes(from);
    block = allocate_block(set, capacity, needed > bytes ? needed : bytes);
  }
  if (block == NULL) {
    free(set);
    return NULL;
  }
  if (from != NULL) {
    struct block_relation relation = kUnrelated;
    cl_block_take(&block->block, from, &relation, from->set.count);
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

/* Counts labels that were written behind those of a set that is not current. */
static void count_in_place(struct label_set* set, struct set_block* live, size_t count) {
  set->relation.rest = kRestUnknown;
  block_count(&live->block, count);
  set->changes++;
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
  if (is_new && live != NULL && count <= live->block.set.capacity && bytes <= live->room &&
      !is_current(thread, set) && !lies_in(live, key) && !lies_in(live, value)) {
    block_write_label(&live->block, index, key, value);
    count_in_place(set, live, count);
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

static bool is_valid(const custom_labels_label_t* label) {
  return label->key.buf != NULL && is_string(label->value);
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
    if (!is_valid(&labels[i])) return EINVAL;
    too_much |= __builtin_add_overflow(*bytes, labels[i].key.len, bytes);
    too_much |= __builtin_add_overflow(*bytes, labels[i].value.len, bytes);
  }
  return too_much ? ENOMEM : 0;
}

/* The two words of a descriptor are loaded one by one, as in cut_string. */
static inline custom_labels_label_t loaded(const custom_labels_label_t* label) {
  return (custom_labels_label_t){{label->key.len, label->key.buf},
                                 {label->value.len, label->value.buf}};
}

/* Writes labels behind those of a set, and does not count them yet. Returns false if one does not
 * fit there, or its key is there already: then nothing was changed. */
static bool write_behind(struct set_block* live, const custom_labels_label_t* labels, size_t n,
                         size_t count, size_t bytes) {
  struct label_block* block = &live->block;
  if (count > block->set.capacity || bytes > live->room) return false;
  for (size_t i = 0; i < n; i++) {
    const custom_labels_label_t label = loaded(&labels[i]);
    const size_t written = block->set.count + i;
    if (lies_in(live, label.key) || lies_in(live, label.value) ||
        block_find_before(block, written, label.key) < written)
      return false;
    block_write_label(block, written, label.key, label.value);
  }
  return true;
}

/* There is no spare block, or it is too small. */
enum { kNoRoom = -1 };

/* Puts labels into a block that may be too small. Returns 0, EINVAL or kNoRoom. */
static inline int put_within(struct set_block* to, struct block_relation* relation,
                             const custom_labels_label_t* labels, size_t n) {
  size_t room = to->room - block_bytes(&to->block);
  for (size_t i = 0; i < n; i++) {
    const custom_labels_label_t label = loaded(&labels[i]);
    if (!is_valid(&label)) return EINVAL;
    const size_t index = block_find(&to->block, label.key);
    if (index < to->block.set.count) {
      room += to->block.labels[index].value.len;
    } else {
      if (index == to->block.set.capacity || label.key.len > room) return kNoRoom;
      room -= label.key.len;
    }
    if (label.value.len > room) return kNoRoom;
    room -= label.value.len;
    block_put_at(&to->block, relation, index, label.key, label.value);
  }
  return 0;
}

/* If a block differs from the live one in the values of just these labels, and they fit where the
 * old ones are, gives it the values. Returns whether it did; if not, its relation still holds. This
 * is the fast path of a scope: the labels of the last one are what the blocks differ in. */
static inline bool put_again(struct label_block* to, const struct block_relation* relation,
                             const custom_labels_label_t* labels, size_t n) {
  if (relation->rest <= kRestEqual || relation->rest - kRestEqual != n) return false;
  const custom_labels_label_t* known = &to->labels[relation->common];
  for (size_t i = 0; i < n; i++) {
    const custom_labels_label_t label = loaded(&labels[i]);
    if (!is_valid(&label) || label.key.len != known[i].key.len ||
        label.value.len != known[i].value.len ||
        !equal_bytes(label.key.buf, known[i].key.buf, label.key.len)) {
      return false;
    }
    copy_bytes((unsigned char*)(uintptr_t)known[i].value.buf, label.value.buf, label.value.len);
  }
  return true;
}

/* Builds the set's labels and these in the spare block, which no reader reads: what is wrong may
 * show when half is done. Returns 0, EINVAL or kNoRoom. */
static inline int try_build(struct label_set* set, const custom_labels_label_t* labels, size_t n) {
  const struct set_block* from = live_block(set);
  struct set_block* to = set->spare;
  if (to == NULL || to->block.set.capacity < set->live->count) return kNoRoom;
  if (from == NULL) {
    to->block.set.count = 0;
    set->relation = kUnrelated;
  } else if (put_again(&to->block, &set->relation, labels, n)) {
    return 0;
  } else if (to->room >= block_bytes(&from->block)) {
    cl_block_take(&to->block, &from->block, &set->relation, from->block.set.count);
  } else {
    return kNoRoom;
  }
  const int error = put_within(to, &set->relation, labels, n);
  if (error != 0) set->relation = kUnrelated;
  return error;
}

/* Does the same with a larger spare block if that is needed. Returns 0, EINVAL or ENOMEM. */
static int build(struct label_set* set, const custom_labels_label_t* labels, size_t n) {
  size_t count = 0;
  size_t bytes = 0;
  int error = labels == NULL && n > 0 ? EINVAL : try_build(set, labels, n);
  if (error != kNoRoom) return error;
  error = add_needs(live_block(set), labels, n, &count, &bytes);
  if (error != 0) return error;
  return cl_set_new_spare(set, count, bytes) == NULL ? ENOMEM : try_build(set, labels, n);
}

int cl_set_update(struct label_set* set, const custom_labels_label_t* labels, size_t n) {
  struct thread_state* thread = this_thread();
  struct set_block* live = live_block(set);
  if (n == 0) return 0;
  if (!is_current(thread, set)) {
    size_t count = 0;
    size_t bytes = 0;
    const int refused = add_needs(live, labels, n, &count, &bytes);
    if (refused != 0) return refused;
    if (live != NULL && write_behind(live, labels, n, count, bytes)) {
      count_in_place(set, live, count);
      return 0;
    }
  }
  const int error = build(set, labels, n);
  if (error != 0) return error;
  set_switch(thread, set, set->spare);
  set->spare = live;
  return 0;
}

int cl_set_update_beside(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                         struct set_block** old) {
  struct set_block* live = live_block(set);
  const int error = build(set, labels, n);
  if (error != 0) return error;
  set_switch(this_thread(), set, set->spare);
  set->spare = NULL;
  *old = live;
  return 0;
}

int cl_set_remove(struct label_set* set, custom_labels_string_t key) {
  if (key.buf == NULL) return EINVAL;
  const size_t index = set_find(set, key);
  if (index == set->live->count) return ENOENT;
  struct thread_state* thread = this_thread();
  struct set_block* live = block_of_labels(set->live);
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
    count_in_place(set, live, 0);
    return 0;
  }
  set_switch(thread, set, NULL);
  free(set->spare);
  set->spare = live;
  return 0;
}
