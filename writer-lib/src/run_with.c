/* This file sets labels for the time of a callback, on a set object or on the thread's own set.
 *
 * The set's labels from before stay whole in their block while the callback runs; a change within
 * it builds in yet another block. If there was no such change, putting back is one store of the old
 * block's address. If there was one, the new labels are those that the callback left, with the old
 * block's values for these keys.
 *
 * The labels come back also where the callback throws, or ends or cancels its thread. A compiler
 * would make a landing pad for that, and calls of _Unwind_Resume and other functions of libgcc_s,
 * which a program in C has not loaded and a small container does not have. (Weak references are
 * bound too early where libgcc_s is loaded later. A copy of the unwinder in this library is not the
 * one that unwinds: its table of register sizes is empty, and _Unwind_SetGR aborts.) So the frame
 * has a personality routine of this file. The unwinder, whichever it is, calls it when it comes by,
 * and it ends the run right there, with no call into the unwinder. Only the unwinder knows where
 * the frame is; but the routine runs on the same stack, further down:
 *
 *      | run_with         struct guard: mark, function, argument    <- the first valid mark
 *      | call_back        has the personality routine                  above is the innermost
 *      | callback                                                      run's
 *      | ...
 *      | _Unwind_RaiseException or _Unwind_ForcedUnwind
 *      v personality      reads upwards from here
 *
 * A mark is valid only at its own address, and is wiped when its run ends. No list of runs could do
 * this: a fiber may continue on another thread, and a signal handler may start a run anywhere. */
#define _DEFAULT_SOURCE /* sigaltstack */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unwind.h>

#include "current_set.h"

/* A sanitizer would keep the guard on a stack of its own, and report the reads of other frames. */
#define UNSANITIZED __attribute__((noinline, no_sanitize("address"), no_sanitize("thread")))

/* This is a random number, so that no other word is its own address under it. */
static const uintptr_t kMark = 0x9d3fb1c6e24a7085U;

struct guard {
  volatile uintptr_t mark; /* the guard's address and kMark while the callback runs */
  void (*end)(void*);
  void* run;
};

/* The assembly code below names this function, by an offset that no linker could bind elsewhere. */
__attribute__((visibility("hidden"))) _Unwind_Reason_Code cl_end_run(
    int version, _Unwind_Action actions, _Unwind_Exception_Class class,
    struct _Unwind_Exception* exception, struct _Unwind_Context* context);

/* This is the personality routine. In the first phase of an exception, the search for a handler,
 * the run goes on. A handler of signals with a stack of its own that throws is not above the guard:
 * the labels stay then. */
UNSANITIZED __attribute__((used)) _Unwind_Reason_Code cl_end_run(
    int version, _Unwind_Action actions, _Unwind_Exception_Class class,
    struct _Unwind_Exception* exception, struct _Unwind_Context* context) {
  (void)class;
  (void)exception;
  (void)context;
  if (version != 1 || (actions & _UA_CLEANUP_PHASE) == 0) return _URC_CONTINUE_UNWIND;
  stack_t alternate;
  if (sigaltstack(NULL, &alternate) != 0 || (alternate.ss_flags & SS_ONSTACK) != 0) {
    return _URC_CONTINUE_UNWIND;
  }
  const volatile uintptr_t* word = __builtin_frame_address(0);
  while (*word != ((uintptr_t)word ^ kMark)) ++word;
  struct guard* guard = (struct guard*)(uintptr_t)word;
  guard->mark = 0;
  guard->end(guard->run);
  return _URC_CONTINUE_UNWIND;
}

/* The frame of this function has the personality routine (0x1b: an offset of four bytes). What
 * follows the call keeps it from becoming a jump. */
UNSANITIZED static void* call_back(void* (*callback)(void*), void* data) {
  __asm__ volatile(".cfi_personality 0x1b, cl_end_run");
  void* result = callback(data);
  __asm__ volatile("" ::: "memory");
  return result;
}

/* Calls the callback, and end(run) when that returns or is unwound. */
UNSANITIZED static void* call_guarded(void* (*callback)(void*), void* data, void (*end)(void*),
                                      void* run) {
  struct guard guard = {.end = end, .run = run};
  guard.mark = (uintptr_t)&guard ^ kMark;
  __asm__ volatile("" ::"r"(&guard) : "memory");
  void* result = call_back(callback, data);
  guard.mark = 0;
  end(run);
  return result;
}

struct run {
  struct label_set* set;
  const custom_labels_label_t* labels;
  size_t n;
  struct set_block* before;             /* null if there were no labels */
  const custom_labels_labelset_t* live; /* what the callback started with */
  uint64_t changes_before;
  uint64_t changes;
};

/* Builds what the callback left, with the values from before for the keys of this run. Returns
 * false without memory. */
static bool merge(const struct run* run) {
  struct label_set* set = run->set;
  struct set_block* live = live_block(set);
  const custom_labels_labelset_t* before = run->before == NULL ? NULL : &run->before->block.set;
  /* This is enough room for all that comes back: its keys and values are in the block from before.
   */
  const size_t count = (live == NULL ? 0 : live->block.set.count) + run->n;
  const size_t bytes = (live == NULL ? 0 : block_bytes(&live->block)) +
                       (run->before == NULL ? 0 : block_bytes(&run->before->block));
  struct block_relation* relation = &set->relation;
  struct set_block* to = spare_with_room(set, count, bytes);
  if (to == NULL) return false;
  if (live == NULL) {
    to->block.set.count = 0;
    *relation = kUnrelated;
  } else {
    cl_block_take(&to->block, &live->block, relation, live->block.set.count);
  }
  for (size_t i = 0; i < run->n; i++) {
    const custom_labels_label_t* old = cl_find_label(before, run->labels[i].key);
    if (old != NULL) {
      block_put(&to->block, relation, old->key, old->value, SIZE_MAX);
      continue;
    }
    const size_t index = block_find(&to->block, run->labels[i].key);
    if (index < to->block.set.count) cl_block_drop(&to->block, relation, index);
  }
  set_switch(this_thread(), set, to);
  set->spare = live;
  return true;
}

static void put_back(void* ended) {
  struct run* run = ended;
  struct label_set* set = run->set;
  const bool untouched = set->live == run->live && set->changes == run->changes;
  if (!untouched && merge(run)) {
    free(run->before);
    return;
  }
  struct set_block* live = live_block(set);
  /* Nothing is known about a block that the callback has changed, nor if it has built another one:
   * the set's relation is to that one then. */
  if (!untouched || set->spare != NULL) set->relation = kUnrelated;
  set_switch(this_thread(), set, run->before);
  if (live != NULL) {
    free(set->spare);
    set->spare = live;
  }
  /* For a run around this one, nothing has changed. */
  if (untouched) set->changes = run->changes_before;
}

static int run_with_set(struct label_set* set, const custom_labels_label_t* labels, size_t n,
                        void* (*callback)(void*), void* data, void** out) {
  struct set_block* before = NULL;
  const uint64_t changes_before = set->changes;
  const int error = cl_set_update_beside(set, labels, n, &before);
  if (error != 0) return error;
  struct run run = {
      .set = set,
      .labels = labels,
      .n = n,
      .before = before,
      .live = set->live,
      .changes_before = changes_before,
      .changes = set->changes,
  };
  void* result = call_guarded(callback, data, put_back, &run);
  if (out != NULL) *out = result;
  return 0;
}

static void leave_scope(void* saved) { (void)custom_labels_thread_leave(saved); }

static int run_with_own(const custom_labels_label_t* labels, size_t n, void* (*callback)(void*),
                        void* data, void** out) {
  custom_labels_saved_t saved;
  const int error = cl_error_of(custom_labels_thread_enter(&saved, labels, n));
  if (error != 0) return error;
  void* result = call_guarded(callback, data, leave_scope, &saved);
  if (out != NULL) *out = result;
  return 0;
}

API int custom_labels_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels, int n,
                               void* (*callback)(void*), void* data, void** out) {
  if (set == NULL || callback == NULL || n < 0 || (labels == NULL && n > 0)) return EINVAL;
  struct label_set* object = object_of(&set);
  if (object != NULL) return run_with_set(object, labels, (size_t)n, callback, data, out);
  const int refused = cl_check_own(set);
  return refused != 0 ? refused : run_with_own(labels, (size_t)n, callback, data, out);
}

API int custom_labels_careful_run_with(custom_labels_labelset_t* set, custom_labels_label_t* labels,
                                       int n, void* (*callback)(void*), void* data, void** out) {
  return custom_labels_run_with(set, labels, n, callback, data, out);
}
