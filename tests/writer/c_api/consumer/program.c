/* A program for the existing C API: it tests that the include line, the names and the types work,
 * and that the labels can be seen. Exits with 0 if all is right, and otherwise says what is wrong.
 */
#include <stdio.h>
#include <string.h>

#include "customlabels.h"

static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  failures++;
}

static custom_labels_string_t string(const char* text) {
  custom_labels_string_t result = {strlen(text), (const unsigned char*)text};
  return result;
}

/* Reads by the ABI alone, as a reader outside would do. */
static int is_shown(const char* key, const char* value) {
  const custom_labels_labelset_t* set = custom_labels_current_set;
  for (size_t i = 0; set != NULL && i < set->count; i++) {
    const custom_labels_label_t* label = &set->storage[i];
    if (label->key.len == strlen(key) && memcmp(label->key.buf, key, strlen(key)) == 0 &&
        label->value.len == strlen(value) && memcmp(label->value.buf, value, strlen(value)) == 0)
      return 1;
  }
  return 0;
}

static void* in_callback(void* data) {
  expect(is_shown("user", "u1") && is_shown("tenant", "acme"), "both labels in the callback");
  return data;
}

int main(void) {
  custom_labels_labelset_t* set = custom_labels_new(0);
  custom_labels_label_t extra = {string("user"), string("u1")};
  void* out = NULL;
  expect(custom_labels_abi_version == 1, "the version");
  expect(custom_labels_replace(set) == NULL, "nothing was current");
  expect(custom_labels_current() == set, "the set is current");
  expect(custom_labels_set(set, string("tenant"), string("acme"), NULL) == 0, "set");
  expect(custom_labels_run_with(set, &extra, 1, in_callback, &out, &out) == 0, "run_with");
  expect(out == &out, "the callback's result");
  expect(is_shown("tenant", "acme") && !is_shown("user", "u1"), "one label after the callback");
  expect(custom_labels_count(set) == 1, "count");
  custom_labels_delete(set, string("tenant"));
  expect(!is_shown("tenant", "acme"), "none after the delete");
  custom_labels_replace(NULL);
  custom_labels_free(set);
  return failures == 0 ? 0 : 1;
}
