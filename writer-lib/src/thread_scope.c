/* The set that was current when a scope is entered is current again when it is left.
 *
 * An own set is built in the block that is not live. So the set of the entry is still whole in its
 * block if no other set was begun there since; in this usual case leaving is one store. Otherwise
 * the set comes back from the copy that enter made. The copy has pointers into the block that it
 * came from: cl_block_take moves them. */
#include <string.h>

#include "thread_draft.h"

/* The address of this stands in place of a thread's blocks when a scope was entered in a signal
 * handler that interrupted another call, so nothing was saved. */
static const char kRefused;

static inline void save(struct thread_state* thread, custom_labels_saved_t* saved) {
  const struct label_block* own = thread->live;
  /* The compiler would load this pointer and the one beside it by one instruction, which has to
   * wait until the last store of one has left the core. It has to keep a value that an asm returns.
   */
  __asm__("" : "+r"(own));
  saved->blocks = thread->blocks;
  saved->own = own;
  saved->handle = thread->handle;
  saved->trace = thread->trace;
  saved->current = cl_current_handle(thread);
  if (own == NULL) return;
  saved->builds = *builds_in(thread, own);
  struct label_block* image = (struct label_block*)(void*)saved->image;
  image->set = own->set;
  for (size_t i = 0; i < own->set.count; i++) image->labels[i] = own->labels[i];
  const unsigned char* from = block_strings(own);
  unsigned char* to = block_strings(image);
  /* Whole vectors are copied, mostly a few, for which a call would take longer; a block has room
   * for them. */
  const size_t bytes = block_bytes(own);
  for (size_t i = 0; i < bytes; i += sizeof(two_words)) memcpy(to + i, from + i, sizeof(two_words));
}

API custom_labels_result_t custom_labels_thread_enter(custom_labels_saved_t* saved,
                                                      const custom_labels_label_t* labels,
                                                      size_t n) {
  struct thread_state* thread = this_thread();
  saved->blocks = &kRefused;
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  save(thread, saved);
  const custom_labels_result_t result =
      n == 0 ? CUSTOM_LABELS_SET : cl_update(thread, kAllLabels, labels, n);
  leave_call(thread);
  return result;
}

API custom_labels_result_t custom_labels_thread_enter_set(custom_labels_saved_t* saved,
                                                          custom_labels_labelset_t* set) {
  struct thread_state* thread = this_thread();
  saved->blocks = &kRefused;
  if (!enter_call(thread)) return CUSTOM_LABELS_BUSY;
  if (set != NULL) (void)object_of(&set);
  save(thread, saved);
  install(thread, set);
  leave_call(thread);
  return CUSTOM_LABELS_SET;
}

/* Returns whether the own set of the entry is still in its block. */
static inline bool is_untouched(struct thread_state* thread, const custom_labels_saved_t* saved) {
  return saved->blocks == thread->blocks && *builds_in(thread, saved->own) == saved->builds;
}

/* Restores the own set of the entry in a block that is not published (or is, if nothing changed).
 * The block is null if the set was empty. Returns false without memory. */
static bool restore_own(struct thread_state* thread, const custom_labels_saved_t* saved,
                        struct label_block** block) {
  *block = NULL;
  if (saved->own == NULL) return true;
  if (is_untouched(thread, saved)) {
    *block = (struct label_block*)(uintptr_t)saved->own;
    return true;
  }
  if (!has_memory(thread)) return false;
  const struct label_block* image = (const struct label_block*)(const void*)saved->image;
  *block = begin_build(thread);
  thread->relation = kUnrelated;
  cl_block_take(*block, image, &thread->relation, image->set.count);
  thread->relation = kUnrelated;
  return true;
}

/* Handles the usual cases: the own set was current, and there is nothing to build. */
static inline bool leave_in_place(struct thread_state* thread, const custom_labels_saved_t* saved) {
  if (saved->blocks != thread->blocks || saved->blocks == NULL) return false;
  if (saved->own == NULL ? saved->current != NULL
                         : saved->current != saved->handle || !is_untouched(thread, saved))
    return false;
  thread->handle = (struct label_handle*)(uintptr_t)saved->handle;
  thread->trace = (uint32_t)saved->trace;
  publish_own(thread, (struct label_block*)(uintptr_t)saved->own);
  return true;
}

static __attribute__((noinline)) custom_labels_result_t leave(struct thread_state* thread,
                                                              const custom_labels_saved_t* saved) {
  /* A thread that had no memory yet had no own set, so only its absence is restored. */
  const bool same_thread = saved->blocks == thread->blocks || saved->blocks == NULL;
  const bool own_was_current =
      saved->current == NULL ? saved->own == NULL : saved->current == saved->handle;
  struct label_block* block = NULL;
  current_slot(thread);
  if (!same_thread && !own_was_current) {
    /* This was the own set of another thread, which was not published there either. */
    install(thread, saved->current);
    return CUSTOM_LABELS_SET;
  }
  if (!restore_own(thread, saved, &block)) return CUSTOM_LABELS_NO_MEMORY;
  if (saved->blocks == thread->blocks)
    thread->handle = (struct label_handle*)(uintptr_t)saved->handle;
  else if (thread->blocks != NULL && !own_is_current(thread))
    cl_replace_handle(thread);
  thread->trace = (uint32_t)saved->trace;
  if (own_was_current) {
    publish_own(thread, block);
    return block == NULL ? CUSTOM_LABELS_REMOVED : CUSTOM_LABELS_SET;
  }
  thread->live = block;
  if (block != NULL) thread->next = other_block(thread, block);
  install(thread, saved->current);
  return saved->current == NULL ? CUSTOM_LABELS_REMOVED : CUSTOM_LABELS_SET;
}

API custom_labels_result_t custom_labels_thread_leave(const custom_labels_saved_t* saved) {
  struct thread_state* thread = this_thread();
  if (saved->blocks == &kRefused || !enter_call(thread)) return CUSTOM_LABELS_BUSY;
  custom_labels_result_t result = saved->own == NULL ? CUSTOM_LABELS_REMOVED : CUSTOM_LABELS_SET;
  if (!leave_in_place(thread, saved)) result = leave(thread, saved);
  leave_call(thread);
  return result;
}
