/* These are the calls of label-set mode. Each takes a set object, the handle of the thread's own
 * set, or, for reading, any set by the ABI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "current_set.h"

API custom_labels_labelset_t* custom_labels_new(size_t capacity) {
  struct label_set* set = cl_set_create(capacity, NULL);
  return set == NULL ? NULL : &set->handle.empty;
}

API void custom_labels_free(custom_labels_labelset_t* set) {
  struct label_set* object = set == NULL ? NULL : object_of(&set);
  if (object != NULL) cl_set_free(object);
}

API size_t custom_labels_count(custom_labels_labelset_t* set) {
  const custom_labels_labelset_t* labels = cl_labels_of(set);
  return labels == NULL ? 0 : labels->count;
}

API const custom_labels_label_t* custom_labels_at(const custom_labels_labelset_t* set,
                                                  size_t index) {
  const custom_labels_labelset_t* labels = cl_labels_of(set);
  return labels == NULL || index >= labels->count ? NULL : &labels->storage[index];
}

API const custom_labels_label_t* custom_labels_get(custom_labels_labelset_t* set,
                                                   custom_labels_string_t key) {
  if (key.buf == NULL) return NULL;
  struct thread_state* thread = this_thread();
  const bool held = hold_own(thread);
  const custom_labels_label_t* label = cl_find_label(cl_labels_of(set), key);
  release_own(thread, held);
  return label;
}

/* Makes a copy that the caller frees; an empty one has a buffer too. */
static int copy_string(custom_labels_string_t string, custom_labels_string_t* out) {
  unsigned char* copy = malloc(string.len == 0 ? 1 : string.len);
  if (copy == NULL) return ENOMEM;
  copy_bytes(copy, string.buf, string.len);
  *out = (custom_labels_string_t){string.len, copy};
  return 0;
}

API int custom_labels_update(custom_labels_labelset_t* set, const custom_labels_label_t* labels,
                             size_t n) {
  if (set == NULL) return EINVAL;
  struct label_set* object = object_of(&set);
  if (object != NULL) return cl_set_update(object, labels, n);
  const int refused = cl_check_own(set);
  return refused != 0 ? refused : cl_error_of(custom_labels_thread_update(labels, n));
}

static inline __attribute__((always_inline)) int set_label(custom_labels_labelset_t* set,
                                                           custom_labels_string_t key,
                                                           custom_labels_string_t value) {
  if (set == NULL || key.buf == NULL || !is_string(value)) return EINVAL;
  struct label_set* object = object_of(&set);
  if (object != NULL) return set_put_at(object, set_find(object, key), key, value);
  const custom_labels_label_t label = {key, value};
  return custom_labels_update(set, &label, 1);
}

static __attribute__((noinline)) int set_and_copy_old(custom_labels_labelset_t* set,
                                                      custom_labels_string_t key,
                                                      custom_labels_string_t value,
                                                      custom_labels_string_t* old_value_out) {
  custom_labels_string_t old = {0, NULL};
  struct thread_state* thread = this_thread();
  const bool held = hold_own(thread);
  const custom_labels_label_t* found =
      set == NULL || key.buf == NULL ? NULL : cl_find_label(cl_labels_of(set), key);
  int error = found == NULL ? 0 : copy_string(found->value, &old);
  release_own(thread, held);
  if (error == 0) error = set_label(set, key, value);
  if (error != 0) {
    free((void*)(uintptr_t)old.buf);
    old = (custom_labels_string_t){0, NULL};
  }
  *old_value_out = old;
  return error;
}

API int custom_labels_set(custom_labels_labelset_t* set, custom_labels_string_t key,
                          custom_labels_string_t value, custom_labels_string_t* old_value_out) {
  return old_value_out == NULL ? set_label(set, key, value)
                               : set_and_copy_old(set, key, value, old_value_out);
}

static inline int remove_label(custom_labels_labelset_t* set, custom_labels_string_t key) {
  if (set == NULL) return EINVAL;
  struct label_set* object = object_of(&set);
  if (object != NULL) return cl_set_remove(object, key);
  const int refused = cl_check_own(set);
  return refused != 0 ? refused : cl_error_of(custom_labels_thread_remove(key.buf, key.len));
}

API int custom_labels_remove(custom_labels_labelset_t* set, custom_labels_string_t key) {
  return remove_label(set, key);
}

API void custom_labels_delete(custom_labels_labelset_t* set, custom_labels_string_t key) {
  (void)remove_label(set, key);
}

API int custom_labels_clear(custom_labels_labelset_t* set) {
  if (set == NULL) return EINVAL;
  struct label_set* object = object_of(&set);
  if (object != NULL) return cl_set_clear(object);
  struct thread_state* thread = this_thread();
  if (!enter_call(thread)) return EBUSY;
  const int refused = cl_check_own(set);
  if (refused == 0) publish_own(thread, NULL);
  leave_call(thread);
  return refused;
}

static bool is_first(const custom_labels_labelset_t* labels, size_t index) {
  const custom_labels_label_t* label = &labels->storage[index];
  return label->key.buf != NULL && cl_find_label(labels, label->key) == label;
}

/* A set that this library has not built may have absent keys, and keys that are there twice. */
static int copy_labels_of(struct label_set* to, const custom_labels_labelset_t* from) {
  for (size_t i = 0; i < from->count; i++) {
    if (!is_first(from, i)) continue;
    const int error = cl_set_update(to, &from->storage[i], 1);
    if (error != 0) return error;
  }
  return 0;
}

static custom_labels_labelset_t* clone(const custom_labels_labelset_t* set, size_t capacity) {
  const custom_labels_labelset_t* labels = cl_labels_of(set);
  const size_t count = labels == NULL ? 0 : labels->count;
  /* The labels of both kinds of handles lie in a block. */
  const bool is_block = count > 0 && (is_object(set) || is_thread_set(set));
  struct label_set* copy =
      cl_set_create(capacity > count ? capacity : count,
                    is_block ? (const struct label_block*)(const void*)labels : NULL);
  if (copy == NULL || is_block || count == 0) return copy == NULL ? NULL : &copy->handle.empty;
  if (copy_labels_of(copy, labels) == 0) return &copy->handle.empty;
  cl_set_free(copy);
  return NULL;
}

API custom_labels_labelset_t* custom_labels_clone_with_capacity(const custom_labels_labelset_t* set,
                                                                size_t capacity) {
  if (set == NULL) return NULL;
  struct thread_state* thread = this_thread();
  const bool held = hold_own(thread);
  custom_labels_labelset_t* copy = clone(set, capacity);
  release_own(thread, held);
  return copy;
}

API custom_labels_labelset_t* custom_labels_clone(const custom_labels_labelset_t* set) {
  return custom_labels_clone_with_capacity(set, 0);
}

static unsigned char* put_bytes(unsigned char* to, const void* bytes, size_t n) {
  if (n > 0) memcpy(to, bytes, n);
  return to + n;
}

static int write_text(const custom_labels_labelset_t* set, custom_labels_string_t* out) {
  const custom_labels_labelset_t* labels = cl_labels_of(set);
  const size_t count = labels == NULL ? 0 : labels->count;
  size_t size = 2;
  for (size_t i = 0; i < count; i++) {
    const custom_labels_label_t* label = &labels->storage[i];
    /* 4 is the size of ": " and ", ". */
    if (label->key.buf != NULL) size += label->key.len + label->value.len + 4;
  }
  unsigned char* text = malloc(size);
  if (text == NULL) return ENOMEM;
  unsigned char* end = put_bytes(text, "{", 1);
  for (size_t i = 0; i < count; i++) {
    if (!is_first(labels, i)) continue;
    const custom_labels_label_t* label = &labels->storage[i];
    if (end > text + 1) end = put_bytes(end, ", ", 2);
    end = put_bytes(end, label->key.buf, label->key.len);
    end = put_bytes(end, ": ", 2);
    end = put_bytes(end, label->value.buf, label->value.len);
  }
  end = put_bytes(end, "}", 1);
  *out = (custom_labels_string_t){(size_t)(end - text), text};
  return 0;
}

API int custom_labels_debug_string(const custom_labels_labelset_t* set,
                                   custom_labels_string_t* out) {
  if (out == NULL) return EINVAL;
  struct thread_state* thread = this_thread();
  const bool held = hold_own(thread);
  const int error = write_text(set, out);
  release_own(thread, held);
  return error;
}

API int custom_labels_careful_set(custom_labels_labelset_t* set, custom_labels_string_t key,
                                  custom_labels_string_t value,
                                  custom_labels_string_t* old_value_out) {
  return custom_labels_set(set, key, value, old_value_out);
}

API void custom_labels_careful_delete(custom_labels_labelset_t* set, custom_labels_string_t key) {
  custom_labels_delete(set, key);
}
