/* A set object has a handle, the block with its labels, and a second block to build the next labels
 * in.
 *
 * ABI v1 reads three words, {storage, count, capacity}, behind one pointer. A change of a set moves
 * two of the words, and two words cannot change at once; but the pointer can. So each block has the
 * three words at its start, and it is the block's address that is published, not the handle's: a
 * change of the current set builds the other block and stores its address to the variable. The
 * program's handle stays what it was; `owner`, in front of each block, leads back to it. The block
 * that has been replaced is kept for the next change: a set that is changed again and again
 * allocates nothing, and copies little (struct block_relation).
 *
 * A set that is not current on this thread is current on no thread, or it must not be changed
 * (customlabels.h). Only a signal handler may look at it during a change. So labels may be added in
 * place, if the block has room: they are written behind the others, and the count is stored last.
 * All other changes build the other block, too. */
#ifndef CUSTOMLABELS_SRC_LABEL_SET_H
#define CUSTOMLABELS_SRC_LABEL_SET_H

#include "label_block.h"
#include "label_handle.h"
#include "thread_state.h"

struct set_block {
  size_t room; /* bytes for strings */
  struct label_set* owner;
  struct label_block block;
};

struct label_set {
  struct label_set* owner;    /* itself; stands in front of the handle as in front of a block */
  struct label_handle handle; /* the program has a pointer to it */
  const custom_labels_labelset_t* live; /* a block's set, or handle.empty before there is one */
  struct set_block* spare;              /* may be null */
  struct block_relation relation;       /* between live and spare */
  uint64_t changes;
};

static inline struct set_block* block_of_labels(const custom_labels_labelset_t* labels) {
  return (struct set_block*)((uintptr_t)labels - offsetof(struct set_block, block));
}
static inline struct label_set* owner_of(const custom_labels_labelset_t* labels) {
  return block_of_labels(labels)->owner;
}
_Static_assert(offsetof(struct set_block, block) - offsetof(struct set_block, owner) ==
                   offsetof(struct label_set, handle) - offsetof(struct label_set, owner),
               "owner_of works for the handle of an empty set, too");

/* Returns the set object behind a pointer of the program, or null if that is anything else. */
static inline struct label_set* set_object(const custom_labels_labelset_t* set) {
  if (!is_object(set)) return NULL;
  return (struct label_set*)((uintptr_t)set - offsetof(struct label_set, handle));
}

/* Returns the block with the labels, or null for a set that never had any. */
static inline struct set_block* live_block(const struct label_set* set) {
  return set->live == &set->handle.empty ? NULL : block_of_labels(set->live);
}

static inline bool is_string(custom_labels_string_t string) {
  return string.buf != NULL || string.len == 0;
}

static inline bool is_current(struct thread_state* thread, const struct label_set* set) {
  return *current_slot(thread) == set->live;
}

/* Returns the index of the key, or the number of labels if it is not there. */
static inline size_t set_find(const struct label_set* set, custom_labels_string_t key) {
  return block_find((const struct label_block*)(const void*)set->live, key);
}

/* Returns a new set with the labels of a block, or without labels for null. Returns null without
 * memory. The capacity is at least the number of labels. */
struct label_set* cl_set_create(size_t capacity, const struct label_block* from);
void cl_set_free(struct label_set* set);

/* Makes a block the set's labels (null for none), and publishes it if the set is current on this
 * thread. The caller owns the block that was the live one, and decides what the spare one is. */
static inline void set_switch(struct thread_state* thread, struct label_set* set,
                              struct set_block* block) {
  const custom_labels_labelset_t* labels = block == NULL ? &set->handle.empty : &block->block.set;
  const bool current = is_current(thread, set);
  /* This comes before the store that publishes: a signal handler that installs a set of its own and
   * puts this one back publishes what is live, and must not bring back the old block after that
   * store. */
  set->live = labels;
  if (current) {
    publish(thread->slot, labels);
    thread->shown = labels;
  }
  set->changes++;
}

/* Sets a label whose key set_find has found at `index`, or not found. The arguments are valid.
 * Returns 0 or ENOMEM. */
int cl_set_put_at(struct label_set* set, size_t index, custom_labels_string_t key,
                  custom_labels_string_t value);
static inline int set_put_at(struct label_set* set, size_t index, custom_labels_string_t key,
                             custom_labels_string_t value) {
  struct thread_state* thread = this_thread();
  struct set_block* spare = set->spare;
  if (index < set->live->count && spare != NULL) {
    struct set_block* live = block_of_labels(set->live);
    if (block_take_value(&spare->block, &live->block, &set->relation, index, value)) {
      set_switch(thread, set, spare);
      set->spare = live;
      return 0;
    }
  }
  return cl_set_put_at(set, index, key, value);
}

/* Sets the labels in turn, all or none. Returns 0, EINVAL or ENOMEM. */
int cl_set_update(struct label_set* set, const custom_labels_label_t* labels, size_t n);
int cl_set_remove(struct label_set* set, custom_labels_string_t key);
int cl_set_clear(struct label_set* set);

/* Builds the labels in the spare block and makes that the set's labels, without giving up the old
 * block: *old becomes that block, or null if there was none, and the set has no spare block. It is
 * for callers that need the old labels. */
int cl_set_update_beside(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                         struct set_block** old);

/* Gives the set a spare block that can hold so much, if it has none. Returns the block, or null
 * without memory. */
struct set_block* cl_set_new_spare(struct label_set* set, size_t labels, size_t bytes);
static inline struct set_block* spare_with_room(struct label_set* set, size_t labels,
                                                size_t bytes) {
  struct set_block* spare = set->spare;
  if (spare != NULL && spare->block.set.capacity >= labels && spare->room >= bytes) return spare;
  return cl_set_new_spare(set, labels, bytes);
}

#endif /* CUSTOMLABELS_SRC_LABEL_SET_H */
