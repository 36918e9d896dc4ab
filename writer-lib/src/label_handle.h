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

/* The labels of a handle or of a set by the ABI: what is published when it is installed; null for
 * null and for a thread's own set without labels. */
const custom_labels_labelset_t* cl_labels_of(const custom_labels_labelset_t* set);

/* The set object that is meant, or null; *set becomes its handle where it is the variable's value.
 */
struct label_set* cl_object_of(custom_labels_labelset_t** set);

/* The label with the key in any set by the ABI: packed or not, with absent keys or without. */
const custom_labels_label_t* cl_find_label(const custom_labels_labelset_t* labels,
                                           custom_labels_string_t key);

/* 0 if this is the handle of the calling thread's own set and that is current, so that fixed-buffer
 * calls change what it stands for; else why it cannot be changed. */
int cl_check_own(const custom_labels_labelset_t* set);

/* A result of fixed-buffer mode in the words of label-set mode. */
int cl_error_of(custom_labels_result_t result);

#endif /* CUSTOMLABELS_SRC_LABEL_HANDLE_H */
