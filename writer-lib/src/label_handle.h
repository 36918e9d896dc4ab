/* A program holds a handle as its set. The type of the handle is the ABI's struct, but its labels
 * lie elsewhere: a handle is an empty set whose storage pointer points into itself, which no set
 * that holds labels does. So the functions can distinguish handles from label sets of the ABI,
 * which they take too, and a handle that a program itself stores to the variable shows no labels.
 *
 *   program's pointer --> [ handle ] -- live --> [ header | labels | strings ] <-- current_set
 *                              ^------ owner ------+
 *
 * There are two kinds: a set object (label_set.h), and the handle for the thread's own set, which
 * custom_labels_thread_* calls make (thread_state.h). */
#ifndef CUSTOMLABELS_SRC_LABEL_HANDLE_H
#define CUSTOMLABELS_SRC_LABEL_HANDLE_H

#include <stdbool.h>

#include "customlabels/customlabels.h"
#undef custom_labels_current_set /* this library writes it */

struct label_handle {
  custom_labels_labelset_t empty;
};

/* The storage pointer of an empty set object is the address of the object itself. An empty set of a
 * thread has the address of its own count instead, the word behind that pointer. No array of labels
 * can begin at either. */
static inline void handle_init_object(struct label_handle* handle) {
  handle->empty = (custom_labels_labelset_t){(custom_labels_label_t*)(void*)handle, 0, 0};
}
static inline void handle_init_thread(struct label_handle* handle) {
  handle->empty =
      (custom_labels_labelset_t){(custom_labels_label_t*)(void*)&handle->empty.count, 0, 0};
}

static inline bool is_object(const custom_labels_labelset_t* set) {
  return (const void*)set->storage == (const void*)set;
}
static inline bool is_thread_set(const custom_labels_labelset_t* set) {
  return (const void*)set->storage == (const void*)&set->count;
}

#endif /* CUSTOMLABELS_SRC_LABEL_HANDLE_H */
