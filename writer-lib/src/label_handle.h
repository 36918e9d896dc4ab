/* What a program holds as a set. The type of the handle is the ABI's struct, but its labels lie
 * elsewhere: a handle is an empty set whose storage pointer points into itself, which no set that
 * holds labels does. So handles can be told from label sets of the ABI, which the functions take
 * too, and one that gets into the variable by itself shows no labels.
 *
 *   program's pointer --> [ handle ] -- live --> [ header | labels | strings ] <-- current_set
 *                              ^------ owner ------+
 *
 * Two kinds: a set object (label_set.h), and the stand-in for what custom_labels_thread_* calls
 * make, the thread's own set (thread_state.h). */
#ifndef CUSTOMLABELS_SRC_LABEL_HANDLE_H
#define CUSTOMLABELS_SRC_LABEL_HANDLE_H

#include <stdbool.h>

#include "customlabels/customlabels.h"
#undef custom_labels_current_set /* it is written here */

struct label_handle {
  custom_labels_labelset_t empty;
};

/* The storage pointer of a set object is its own address, that of a thread's set the address of the
 * word behind: no array of labels can begin at either. */
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
