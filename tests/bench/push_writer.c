#include "push_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

API __thread custom_labels_labelset_t* push_current_set;

/* A reader that interrupts the thread sees stores in program order; the compiler must keep it. */
static void fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

static unsigned char* copy_bytes(custom_labels_string_t string) {
  unsigned char* bytes = malloc(string.len > 0 ? string.len : 1);
  if (bytes != NULL && string.len > 0) memcpy(bytes, string.buf, string.len);
  return bytes;
}

static custom_labels_label_t* find_key(custom_labels_labelset_t* set, custom_labels_string_t key) {
  for (size_t i = 0; i < set->count; i++) {
    custom_labels_label_t* label = &set->storage[i];
    if (label->key.buf != NULL && label->key.len == key.len &&
        memcmp(label->key.buf, key.buf, key.len) == 0)
      return label;
  }
  return NULL;
}

static int grow(custom_labels_labelset_t* set) {
  if (set->count < set->capacity) return 0;
  const size_t capacity = set->capacity > 0 ? 2 * set->capacity : 1;
  custom_labels_label_t* larger = malloc(capacity * sizeof *larger);
  if (larger == NULL) return ENOMEM;
  custom_labels_label_t* smaller = set->storage;
  if (set->count > 0) memcpy(larger, smaller, set->count * sizeof *larger);
  fence();
  set->storage = larger;
  fence();
  set->capacity = capacity;
  free(smaller);
  return 0;
}

static int push(custom_labels_labelset_t* set, custom_labels_string_t key,
                custom_labels_string_t value) {
  if (grow(set) != 0) return ENOMEM;
  unsigned char* key_bytes = copy_bytes(key);
  unsigned char* value_bytes = copy_bytes(value);
  if (key_bytes == NULL || value_bytes == NULL) {
    free(key_bytes);
    free(value_bytes);
    return ENOMEM;
  }
  const custom_labels_label_t label = {{key.len, key_bytes}, {value.len, value_bytes}};
  set->storage[set->count] = label;
  fence();
  set->count++;
  fence();
  return 0;
}

static void swap_delete(custom_labels_labelset_t* set, custom_labels_label_t* label) {
  void* key = (void*)label->key.buf;
  void* value = (void*)label->value.buf;
  label->key.buf = NULL;
  fence();
  free(key);
  free(value);
  const custom_labels_label_t* last = &set->storage[set->count - 1];
  if (label != last) {
    label->value = last->value;
    label->key.len = last->key.len;
    fence();
    label->key.buf = last->key.buf;
    fence();
  }
  set->count--;
  fence();
}

API custom_labels_labelset_t* push_new(size_t capacity) {
  custom_labels_labelset_t* set = malloc(sizeof *set);
  if (set == NULL) return NULL;
  set->storage = capacity > 0 ? malloc(capacity * sizeof *set->storage) : NULL;
  set->count = 0;
  set->capacity = set->storage != NULL ? capacity : 0;
  return set;
}

API void push_free(custom_labels_labelset_t* set) {
  if (set == NULL) return;
  for (size_t i = 0; i < set->count; i++) {
    free((void*)set->storage[i].key.buf);
    free((void*)set->storage[i].value.buf);
  }
  free(set->storage);
  free(set);
}

API custom_labels_labelset_t* push_current(void) { return push_current_set; }

API custom_labels_labelset_t* push_replace(custom_labels_labelset_t* set) {
  custom_labels_labelset_t* before = push_current_set;
  push_current_set = set;
  return before;
}

API int push_set(custom_labels_labelset_t* set, custom_labels_string_t key,
                 custom_labels_string_t value, custom_labels_string_t* old_value) {
  const custom_labels_label_t* old = find_key(set, key);
  const size_t index = old == NULL ? set->count : (size_t)(old - set->storage);
  if (old_value != NULL) {
    *old_value = (custom_labels_string_t){0, NULL};
    if (old != NULL) {
      unsigned char* copy = copy_bytes(old->value);
      if (copy == NULL) return ENOMEM;
      *old_value = (custom_labels_string_t){old->value.len, copy};
    }
  }
  if (push(set, key, value) != 0) return ENOMEM;
  if (old != NULL) swap_delete(set, &set->storage[index]); /* the array may have moved */
  return 0;
}

API void push_delete(custom_labels_labelset_t* set, custom_labels_string_t key) {
  custom_labels_label_t* label = find_key(set, key);
  if (label != NULL) swap_delete(set, label);
}

/* Its known defect stays: a key that was absent is restored with an empty value. */
API int push_run_with(custom_labels_labelset_t* set, const custom_labels_label_t* labels, size_t n,
                      void* (*callback)(void*), void* argument, void** out) {
  custom_labels_string_t* old = malloc((n > 0 ? n : 1) * sizeof *old);
  if (old == NULL) return ENOMEM;
  int error = 0;
  size_t set_count = 0;
  while (error == 0 && set_count < n) {
    error = push_set(set, labels[set_count].key, labels[set_count].value, &old[set_count]);
    set_count++;
  }
  if (error == 0) {
    void* result = callback(argument);
    if (out != NULL) *out = result;
  }
  for (size_t i = 0; i < set_count; i++) {
    const int back = push_set(set, labels[i].key, old[i], NULL);
    if (error == 0) error = back;
    free((void*)old[i].buf);
  }
  free(old);
  return error;
}
