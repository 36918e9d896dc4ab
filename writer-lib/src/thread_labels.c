/* The calling thread's labels: two blocks per thread, one of them published or none.
 *
 * How a change stays invisible until it is whole. A call never touches the published block. It
 * builds the complete new set in the other one and then stores that block's address to
 * custom_labels_current_set: one instruction, before which a reader finds the old set and after
 * which the new one. Only the next call writes to the block that this store retired; by then no
 * reader can be inside it, because readers run while the thread does not.
 *
 *   current_set --> [block 0: tenant=a]      [block 1: being built: tenant=a route=/]
 *   current_set --------------------------->  [block 1: tenant=a route=/]     block 0 is free to
 * build in
 *
 * An interrupt sees the CPU's state between two instructions, so the compiler alone could reorder
 * the stores; the signal fences around the publication forbid it, and nothing has to be said to the
 * CPU. */
#include <pthread.h>
#include <stdlib.h>

#include "label_block.h"

#define API __attribute__((visibility("default")))

static __thread struct {
  struct label_block* blocks;      /* two; null until the first call that needs them */
  struct label_block* live;        /* the published one; null when there are no labels */
  struct label_block* next;        /* where the next set is built; never the live one */
  custom_labels_labelset_t** slot; /* &custom_labels_current_set: spares a second TLSDESC call */
  uint64_t builds;                 /* how often a set was begun in a block of this thread */
} own;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end_key;
static int key_error;

static void publish(struct label_block* block) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(own.slot, block == NULL ? NULL : &block->set, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  own.live = block;
  if (block != NULL) own.next = block == own.blocks ? own.blocks + 1 : own.blocks;
}

static void end_thread(void* blocks) {
  publish(NULL);
  own.blocks = NULL;
  own.next = NULL;
  free(blocks);
}

static void create_key(void) { key_error = pthread_key_create(&thread_end_key, end_thread); }

static bool allocate_blocks(void) {
  pthread_once(&key_once, create_key);
  if (key_error != 0) return false;
  struct label_block* blocks = malloc(2 * sizeof *blocks);
  if (blocks == NULL) return false;
  if (pthread_setspecific(thread_end_key, blocks) != 0) {
    free(blocks);
    return false;
  }
  block_init(&blocks[0]);
  block_init(&blocks[1]);
  own.blocks = blocks;
  own.next = blocks;
  own.slot = &custom_labels_current_set;
  return true;
}

/* The block to build the next set in; null without memory. */
static struct label_block* begin_build(void) {
  if (own.blocks == NULL && !allocate_blocks()) return NULL;
  own.builds++;
  return own.next;
}

static bool is_valid(const custom_labels_label_t* label) {
  return label->key.buf != NULL && label->key.len > 0 &&
         (label->value.buf != NULL || label->value.len == 0);
}

/* Builds `from` (null: no labels) plus the labels, and publishes it. n > 0. */
static custom_labels_result_t build_with(const struct label_block* from,
                                         const custom_labels_label_t* labels, size_t n) {
  if (labels == NULL) return CUSTOM_LABELS_INVALID;
  for (size_t i = 0; i < n; i++) {
    if (!is_valid(&labels[i])) return CUSTOM_LABELS_INVALID;
  }
  struct label_block* block = begin_build();
  if (block == NULL) return CUSTOM_LABELS_NO_MEMORY;
  if (from == NULL) block_init(block);
  bool truncated = false;
  custom_labels_result_t result = CUSTOM_LABELS_SET;
  for (size_t i = 0; i < n; i++) {
    custom_labels_label_t label = labels[i];
    truncated |= cut_string(&label.key, CUSTOM_LABELS_THREAD_MAX_KEY);
    truncated |= cut_string(&label.value, CUSTOM_LABELS_THREAD_MAX_VALUE);
    result = i == 0 && from != NULL ? block_copy_with(block, from, label.key, label.value)
                                    : block_put(block, label.key, label.value);
    if (result == CUSTOM_LABELS_FULL) return result;
  }
  publish(block);
  return truncated ? CUSTOM_LABELS_TRUNCATED : result;
}

API custom_labels_result_t custom_labels_thread_set(const void* key, size_t key_len,
                                                    const void* value, size_t value_len) {
  const custom_labels_label_t label = {{key_len, key}, {value_len, value}};
  return build_with(own.live, &label, 1);
}

API custom_labels_result_t custom_labels_thread_update(const custom_labels_label_t* labels,
                                                       size_t n) {
  if (n == 0) return CUSTOM_LABELS_SET;
  const custom_labels_result_t result = build_with(own.live, labels, n);
  return result == CUSTOM_LABELS_REPLACED ? CUSTOM_LABELS_SET : result;
}

API custom_labels_result_t custom_labels_thread_replace(const custom_labels_label_t* labels,
                                                        size_t n) {
  if (n == 0) return custom_labels_thread_clear();
  const custom_labels_result_t result = build_with(NULL, labels, n);
  return result == CUSTOM_LABELS_REPLACED ? CUSTOM_LABELS_SET : result;
}

API custom_labels_result_t custom_labels_thread_remove(const void* key, size_t key_len) {
  custom_labels_string_t cut = {key_len, key};
  if (key == NULL || key_len == 0) return CUSTOM_LABELS_INVALID;
  if (own.live == NULL) return CUSTOM_LABELS_ABSENT;
  cut_string(&cut, CUSTOM_LABELS_THREAD_MAX_KEY);
  const size_t index = block_find(own.live, cut);
  if (index == own.live->set.count) return CUSTOM_LABELS_ABSENT;
  if (own.live->set.count == 1) {
    publish(NULL);
  } else {
    /* Never null: a thread with labels has its blocks. */
    struct label_block* block = begin_build();
    block_copy(block, own.live);
    block_drop(block, index);
    publish(block);
  }
  return CUSTOM_LABELS_REMOVED;
}

API custom_labels_result_t custom_labels_thread_clear(void) {
  if (own.live == NULL) return CUSTOM_LABELS_ABSENT;
  publish(NULL);
  return CUSTOM_LABELS_REMOVED;
}

API custom_labels_result_t custom_labels_thread_enter(custom_labels_saved_t* saved,
                                                      const custom_labels_label_t* labels,
                                                      size_t n) {
  saved->blocks = own.blocks;
  saved->live = own.live;
  saved->builds = own.builds;
  if (own.live != NULL) block_copy((struct label_block*)saved->image, own.live);
  return custom_labels_thread_update(labels, n);
}

API custom_labels_result_t custom_labels_thread_leave(const custom_labels_saved_t* saved) {
  if (saved->live == NULL) {
    custom_labels_thread_clear();
    return CUSTOM_LABELS_REMOVED;
  }
  /* Building starts in the block that was not live at entry, so the set of then is still whole in
   * its block if no second set was begun since: the usual case, and one store. Otherwise it comes
   * back from the copy. */
  if (saved->blocks == own.blocks && own.builds - saved->builds <= 1) {
    publish(saved->live);
    return CUSTOM_LABELS_SET;
  }
  struct label_block* block = begin_build();
  if (block == NULL) return CUSTOM_LABELS_NO_MEMORY;
  block_copy(block, (const struct label_block*)saved->image);
  publish(block);
  return CUSTOM_LABELS_SET;
}
