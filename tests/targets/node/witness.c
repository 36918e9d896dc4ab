/* An addon for tests of labels from Node.js. It does not use the code of the module:
 *
 *   published(path)    what this thread publishes by this addon, read by the ABI alone, as an array
 *                      of strings; null if it publishes nothing
 *   put(number, part)  a second label source, libthreadcontext.so, to which a program writes by
 *   clear()            itself what it computes: the witness of a sample
 *   tid()              the number of this thread */
#define NAPI_VERSION 8
#include <dlfcn.h>
#include <limits.h>
#include <node_api.h>
#include <stddef.h>
#include <unistd.h>

#include "customlabels/label_abi.h"
#include "customlabels/thread_context.h"

static napi_value published(napi_env env, napi_callback_info info) {
  size_t passed = 1;
  napi_value path = NULL;
  char file[PATH_MAX] = "";
  napi_get_cb_info(env, info, &passed, &path, NULL, NULL);
  napi_get_value_string_utf8(env, path, file, sizeof file, NULL);
  /* The loader gives the address of the calling thread's variable. */
  void* addon = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  custom_labels_labelset_t** variable =
      addon == NULL ? NULL : dlsym(addon, "custom_labels_current_set");
  napi_value texts = NULL;
  if (variable == NULL || *variable == NULL) {
    napi_get_null(env, &texts);
    return texts;
  }
  napi_create_array(env, &texts);
  uint32_t n = 0;
  for (size_t i = 0; i < (*variable)->count; ++i) {
    const custom_labels_label_t* label = &(*variable)->storage[i];
    if (label->key.buf == NULL) continue;
    const custom_labels_string_t both[] = {label->key, label->value};
    for (size_t j = 0; j < 2; ++j) {
      napi_value text = NULL;
      napi_create_string_utf8(env, (const char*)both[j].buf, both[j].len, &text);
      napi_set_element(env, texts, n++, text);
    }
  }
  return texts;
}

static napi_value put(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value numbers[2];
  int64_t number = 0;
  int64_t part = 0;
  napi_get_cb_info(env, info, &count, numbers, NULL, NULL);
  napi_get_value_int64(env, numbers[0], &number);
  napi_get_value_int64(env, numbers[1], &part);
  thread_context_put((uint64_t)number, (uint64_t)part);
  return NULL;
}

static napi_value clear(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  thread_context_clear();
  return NULL;
}

static napi_value tid(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value number = NULL;
  napi_create_int32(env, gettid(), &number);
  return number;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor calls[] = {
      {"published", NULL, published, NULL, NULL, NULL, napi_enumerable, NULL},
      {"put", NULL, put, NULL, NULL, NULL, napi_enumerable, NULL},
      {"clear", NULL, clear, NULL, NULL, NULL, napi_enumerable, NULL},
      {"tid", NULL, tid, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  napi_define_properties(env, exports, sizeof calls / sizeof *calls, calls);
  return exports;
}
