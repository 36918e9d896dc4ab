/* customlabels.node, the addon for customlabels/index.js: makes sets of labels and publishes one of
 * them. The writer is a part of it, as ABI.md allows a file of this name. It uses Node-API alone,
 * whose binary interface is the same in all versions of node.
 *
 * JavaScript holds a set as an "external", a value that only this addon can look into. The addon
 * keeps nothing else, so each worker thread may load it, too, and any thread more than once. */
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "customlabels/customlabels.h"

/* The bytes that one label can have, each text with a byte for the zero that Node-API adds. */
enum {
  kKeySize = CUSTOM_LABELS_THREAD_MAX_KEY + 1,
  kValueSize = CUSTOM_LABELS_THREAD_MAX_VALUE + 1,
  kLabelSize = kKeySize + kValueSize
};

struct set {
  custom_labels_labelset_t* labels;
  int64_t size; /* about; the collector of garbage is told of it */
};

static napi_value refuse(napi_env env, const char* why) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw_type_error(env, "CUSTOMLABELS_ARGUMENT", why);
  return NULL;
}

static void free_set(napi_env env, void* data, void* hint) {
  (void)hint;
  struct set* set = data;
  int64_t all = 0;
  napi_adjust_external_memory(env, -set->size, &all);
  custom_labels_free(set->labels);
  free(set);
}

/* Copies the text at this index as UTF-8. One that is too long is cut at the end of a character. */
static bool take_text(napi_env env, napi_value texts, uint32_t index, char* buffer, size_t size,
                      custom_labels_string_t* to) {
  napi_value text = NULL;
  to->buf = (const unsigned char*)buffer;
  return napi_get_element(env, texts, index, &text) == napi_ok &&
         napi_get_value_string_utf8(env, text, buffer, size, &to->len) == napi_ok;
}

/* Returns a set without labels if there is no memory for them. */
static custom_labels_labelset_t* make_labels(const custom_labels_label_t* labels, size_t count) {
  custom_labels_labelset_t* made = custom_labels_new(count);
  if (made == NULL || custom_labels_update(made, labels, count) == 0) return made;
  custom_labels_free(made);
  return NULL;
}

/* create([key, value, key, value, ...]) returns a set. */
static napi_value create(napi_env env, napi_callback_info info) {
  size_t passed = 1;
  napi_value texts = NULL;
  uint32_t length = 0;
  if (napi_get_cb_info(env, info, &passed, &texts, NULL, NULL) != napi_ok ||
      napi_get_array_length(env, texts, &length) != napi_ok || length % 2 != 0) {
    return refuse(env, "create() takes an array of keys and values");
  }
  const size_t count = length / 2;
  custom_labels_label_t* labels = calloc(count + 1, sizeof *labels);
  char* bytes = calloc(count + 1, kLabelSize);
  struct set* set = malloc(sizeof *set);
  bool taken = labels != NULL && bytes != NULL && set != NULL;
  const char* why = taken ? "a key or value is no string" : "no memory for labels";
  size_t size = sizeof *set;
  for (size_t i = 0; taken && i < count; ++i) {
    char* place = bytes + i * kLabelSize;
    taken = take_text(env, texts, (uint32_t)(2 * i), place, kKeySize, &labels[i].key) &&
            take_text(env, texts, (uint32_t)(2 * i + 1), place + kKeySize, kValueSize,
                      &labels[i].value);
    size += sizeof *labels + labels[i].key.len + labels[i].value.len;
  }
  custom_labels_labelset_t* made = taken ? make_labels(labels, count) : NULL;
  free(labels);
  free(bytes);
  if (made == NULL) {
    free(set);
    return refuse(env, taken ? "no memory for labels" : why);
  }
  *set = (struct set){.labels = made, .size = (int64_t)size};
  napi_value external = NULL;
  if (napi_create_external(env, set, free_set, NULL, &external) != napi_ok) {
    custom_labels_free(made);
    free(set);
    return refuse(env, "node has no memory for labels");
  }
  int64_t all = 0;
  napi_adjust_external_memory(env, set->size, &all);
  return external;
}

/* publish(set) makes the set current on this thread, publish(null) none. */
static napi_value publish(napi_env env, napi_callback_info info) {
  size_t passed = 1;
  napi_value value = NULL;
  napi_valuetype type = napi_undefined;
  if (napi_get_cb_info(env, info, &passed, &value, NULL, NULL) != napi_ok ||
      napi_typeof(env, value, &type) != napi_ok) {
    return refuse(env, "publish() takes a set");
  }
  void* set = NULL;
  if (type == napi_external) {
    napi_get_value_external(env, value, &set);
  } else if (type != napi_null) {
    return refuse(env, "publish() takes a set or null");
  }
  custom_labels_replace(set == NULL ? NULL : ((struct set*)set)->labels);
  return NULL;
}

/* A worker thread ends: its sets are freed after this. node aborts if a function is registered
 * twice with one argument; each load of the addon has an env of its own. */
static void withdraw(void* env) {
  (void)env;
  custom_labels_replace(NULL);
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor calls[] = {
      {"create", NULL, create, NULL, NULL, NULL, napi_enumerable, NULL},
      {"publish", NULL, publish, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_add_env_cleanup_hook(env, withdraw, env) != napi_ok ||
      napi_define_properties(env, exports, sizeof calls / sizeof *calls, calls) != napi_ok) {
    return refuse(env, "the addon cannot be initialized");
  }
  return exports;
}
