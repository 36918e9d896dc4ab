/* This header has what the library knows about a thread, and the store that publishes.
 *
 * How a change stays invisible until it is whole. No call touches a set that is published. It
 * builds the complete new set somewhere else and then stores the address of that to
 * custom_labels_current_set: before this one instruction a reader finds the old set, after it the
 * new one. Only the next call writes to the memory that this store retired; by then no reader can
 * be inside it, because readers run while the thread does not.
 *
 *   current_set --> [block 0: tenant=a]    [block 1: being built: tenant=a route=/]
 *   current_set -------------------------> [block 1: tenant=a route=/]    block 0 is free again
 *
 * An interrupt sees the CPU's state between two instructions, so the compiler alone could reorder
 * the stores; the signal fences around the publication forbid that, and the CPU needs no barrier.
 *
 * The variable alone determines what is current. The rest of the state is compared with it, and
 * never trusted instead of it: the thread's own set is current if the variable holds `live`, which
 * may be null. */
#ifndef CUSTOMLABELS_SRC_THREAD_STATE_H
#define CUSTOMLABELS_SRC_THREAD_STATE_H

#include "label_block.h"
#include "label_handle.h"

#define API __attribute__((visibility("default")))

struct thread_state {
  /* &custom_labels_current_set: kept to avoid a second TLSDESC call */
  custom_labels_labelset_t** slot;
  /* what is published, if that is a set object's labels, or null; never what was published before:
   * other labels may lie there by now */
  const custom_labels_labelset_t* shown;
  struct label_block* blocks;     /* the first of two; null until prepared */
  struct label_block* live;       /* the own set; null when it has no labels */
  struct label_block* next;       /* where the next own set is built; never the live one */
  struct label_handle* handle;    /* stands for the own set; one of two behind the blocks */
  struct block_relation relation; /* between the two blocks */
  uint64_t builds[2];             /* numbers of the sets begun last in each block */
  uint32_t trace;                 /* labels of the trace context at the start of the own set */
  bool in_call;                   /* a handler that interrupts now must not change labels */
};
/* A thread may get the memory that an ended thread had. Its counts start at a multiple of this that
 * no other thread's start at, so that a scope of the ended thread knows none of its sets again. */
#define BUILDS_OF_THREAD ((uint64_t)1 << 40)

_Static_assert(sizeof(struct thread_state) + sizeof(void*) == CUSTOM_LABELS_THREAD_TLS_BYTES,
               "stated in writer.h");

extern __attribute__((visibility("hidden"))) __thread struct thread_state cl_own_thread;

/* Returns the calling thread's state. The compiler considers the address of a thread-local variable
 * so cheap that it computes it again after each branch, by a call. It has to keep a value that an
 * asm returns. */
static inline struct thread_state* this_thread(void) {
  struct thread_state* thread = &cl_own_thread;
  __asm__("" : "+r"(thread));
  return thread;
}

static inline custom_labels_labelset_t** current_slot(struct thread_state* thread) {
  if (__builtin_expect(thread->slot == NULL, 0)) thread->slot = &custom_labels_current_set;
  return thread->slot;
}

static inline void publish(custom_labels_labelset_t** slot,
                           const custom_labels_labelset_t* labels) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(slot, (custom_labels_labelset_t*)(uintptr_t)labels, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Returns whether the labels that a reader sees are the thread's own set (or whether there are
 * none). */
static inline bool own_is_current(const struct thread_state* thread) {
  return (const void*)*thread->slot == (const void*)thread->live;
}

static inline struct label_block* other_block(const struct thread_state* thread,
                                              const struct label_block* block) {
  struct label_block* second =
      (struct label_block*)(void*)((char*)thread->blocks + CUSTOM_LABELS_THREAD_BLOCK_SIZE);
  return block == second ? thread->blocks : second;
}

static inline uint64_t* builds_in(struct thread_state* thread, const struct label_block* block) {
  return &thread->builds[block == thread->blocks ? 0 : 1];
}

/* Returns the block for the next own set. From now on the set of two changes ago, which it held, is
 * gone. */
static inline struct label_block* begin_build(struct thread_state* thread) {
  ++*builds_in(thread, thread->next);
  return thread->next;
}

/* Makes the block (null for no labels) the own set and current. */
static inline void publish_own(struct thread_state* thread, struct label_block* block) {
  publish(thread->slot, block == NULL ? NULL : &block->set);
  thread->shown = NULL;
  thread->live = block;
  if (block != NULL) thread->next = other_block(thread, block);
}

/* Gives the thread its memory, by an allocation if it has none yet. Returns false without memory.
 */
bool cl_allocate_blocks(struct thread_state* thread);
static inline bool has_memory(struct thread_state* thread) {
  return __builtin_expect(thread->blocks != NULL, 1) || cl_allocate_blocks(thread);
}

/* Gives the own set a new handle, when it starts from another set: the old handle then stands for
 * nothing, whether the old set had labels or not. There are two handles, which take turns:
 * customlabels.h says how long an old one may be used. The thread must have its memory. */
void cl_replace_handle(struct thread_state* thread);

/* These two calls enclose all that changes the own set. A signal handler between them is refused.
 */
static inline bool enter_call(struct thread_state* thread) {
  if (__builtin_expect(thread->in_call, 0)) return false;
  thread->in_call = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return true;
}
static inline void leave_call(struct thread_state* thread) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->in_call = false;
}

/* These two enclose what reads the own set and may be called anywhere, also within another call. A
 * handler that changed that set twice would overwrite what is read. */
static inline bool hold_own(struct thread_state* thread) { return enter_call(thread); }
static inline void release_own(struct thread_state* thread, bool held) {
  if (held) leave_call(thread);
}

#endif /* CUSTOMLABELS_SRC_THREAD_STATE_H */
