/* Makes the calls of the Java library without a JVM: it gives the native methods a table of JNI in
 * which GetStringRegion works, on texts of C, and what the library calls when it is loaded. So
 * `labelscope check --step` can stop at each instruction of them, and valgrind can watch their
 * memory; neither copes with a JVM.
 *
 *   jni_caller LIBRARY [THREADS]
 *
 * Each of the threads, one after the other, makes one round of calls, and leaves scopes open at its
 * end. The status is 0 if every call returned what it should. */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "customlabels/writer.h"

typedef jint set_call(JNIEnv*, jclass, jstring, jint, jstring, jint);
typedef jint remove_call(JNIEnv*, jclass, jstring, jint);
typedef jint no_argument_call(JNIEnv*, jclass);
typedef jint trace_call(JNIEnv*, jclass, jlong, jlong);
typedef jlong enter_call(JNIEnv*, jclass, jlong, jstring, jint, jstring, jint);
typedef jlong enter_two_call(JNIEnv*, jclass, jlong, jstring, jint, jstring, jint, jstring, jint,
                             jstring, jint);
typedef jint leave_call(JNIEnv*, jclass, jlong);

static struct {
  set_call* set;
  remove_call* remove;
  no_argument_call* clear;
  trace_call* set_trace;
  no_argument_call* clear_trace;
  enter_call* enter;
  enter_two_call* enter_two;
  leave_call* leave;
} methods;

/* What stands behind a jstring here. */
struct made_text {
  jint length;
  jchar units[1000];
};

static void JNICALL get_region(JNIEnv* java, jstring from, jsize start, jsize length, jchar* to) {
  (void)java;
  const struct made_text* text = (const struct made_text*)(const void*)from;
  if (start < 0 || length < 0 || start + length > text->length) abort();
  for (jsize i = 0; i < length; i++) to[i] = text->units[start + i];
}

static JNIEnv java;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "jni_caller: %s failed\n", what);
  exit(3);
}

/* Makes the ASCII text `times` times over. */
static struct made_text made(const char* ascii, int times) {
  struct made_text text = {0};
  for (int i = 0; i < times; i++)
    for (const char* c = ascii; *c != '\0'; c++) text.units[text.length++] = (jchar)*c;
  return text;
}

/* Expands to the two arguments of a text. */
#define TEXT(text) (jstring)(void*) & (text), (text).length

static jlong ticket_of(jlong entered) {
  expect((int8_t)entered >= 0, "enter");
  return entered >> 8;
}

static void* make_round(void* unused) {
  struct made_text tenant = made("tenant", 1);
  struct made_text route = made("http.route", 1);
  struct made_text acme = made("acme", 1);
  struct made_text initech = made("initech", 1);
  struct made_text too_long = made("0123456789", 90);
  const jlong outer = ticket_of(methods.enter(&java, NULL, 1, TEXT(tenant), TEXT(acme)));
  expect(methods.set(&java, NULL, TEXT(route), TEXT(acme)) == CUSTOM_LABELS_SET, "set");
  expect(methods.set(&java, NULL, TEXT(route), TEXT(too_long)) == CUSTOM_LABELS_TRUNCATED, "cut");
  expect(methods.set_trace(&java, NULL, 17, 4) == CUSTOM_LABELS_SET, "set_trace");
  const jlong inner = ticket_of(
      methods.enter_two(&java, NULL, 1, TEXT(tenant), TEXT(initech), TEXT(route), TEXT(acme)));
  const jlong innermost = ticket_of(methods.enter(&java, NULL, 1, TEXT(tenant), TEXT(acme)));
  expect(methods.remove(&java, NULL, TEXT(route)) == CUSTOM_LABELS_REMOVED, "remove");
  expect(methods.leave(&java, NULL, inner) == CUSTOM_LABELS_SET, "leave");
  expect(methods.leave(&java, NULL, innermost) == CUSTOM_LABELS_ABSENT, "leave again");
  expect(methods.clear_trace(&java, NULL) == CUSTOM_LABELS_REMOVED, "clear_trace");
  expect(methods.leave(&java, NULL, outer) == CUSTOM_LABELS_REMOVED, "leave the outer one");
  expect(methods.set(&java, NULL, TEXT(tenant), TEXT(acme)) == CUSTOM_LABELS_SET, "set");
  expect(methods.clear(&java, NULL) == CUSTOM_LABELS_REMOVED, "clear");
  /* Another thread of Java goes on here, and does not close what the first has left open. */
  const jlong of_first = ticket_of(methods.enter(&java, NULL, 1, TEXT(tenant), TEXT(acme)));
  (void)methods.enter(&java, NULL, 1, TEXT(tenant), TEXT(initech));
  const jlong of_second = ticket_of(methods.enter(&java, NULL, 2, TEXT(route), TEXT(initech)));
  expect(custom_labels_current_set->count == 1, "labels of the second thread alone");
  expect(methods.leave(&java, NULL, of_first) == CUSTOM_LABELS_ABSENT, "leave the first one's");
  expect(methods.leave(&java, NULL, of_second) == CUSTOM_LABELS_REMOVED, "leave the second one's");
  (void)methods.enter(&java, NULL, 1, TEXT(tenant), TEXT(acme));
  (void)methods.enter(&java, NULL, 1, TEXT(route), TEXT(initech));
  return unused;
}

/* The library has no symbols of its methods, but gives them to the class. */
static jclass JNICALL find_class(JNIEnv* env, const char* name) {
  (void)env;
  expect(strcmp(name, "customlabels/NativeLabels") == 0, name);
  return (jclass)&methods;
}

static jint JNICALL register_natives(JNIEnv* env, jclass type, const JNINativeMethod* given,
                                     jint count) {
  const struct {
    const char* name;
    void* place;
  } wanted[] = {{"set", &methods.set},
                {"remove", &methods.remove},
                {"clear", &methods.clear},
                {"setTrace", &methods.set_trace},
                {"clearTrace", &methods.clear_trace},
                {"enter", &methods.enter},
                {"enterTwo", &methods.enter_two},
                {"leave", &methods.leave}};
  (void)env;
  expect(type == (jclass)&methods, "the class of the methods");
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    for (jint n = 0; n < count; n++) {
      if (strcmp(given[n].name, wanted[i].name) == 0)
        memcpy(wanted[i].place, &given[n].fnPtr, sizeof(void*));
    }
    void* found = NULL;
    memcpy(&found, wanted[i].place, sizeof found);
    expect(found != NULL, wanted[i].name);
  }
  return JNI_OK;
}

static jint JNICALL get_env(JavaVM* vm, void** env, jint version);

static const struct JNINativeInterface_ functions = {.GetStringRegion = get_region,
                                                     .FindClass = find_class,
                                                     .RegisterNatives = register_natives};
static const struct JNIInvokeInterface_ vm_functions = {.GetEnv = get_env};

static jint JNICALL get_env(JavaVM* vm, void** env, jint version) {
  (void)vm, (void)version;
  *env = &java;
  return JNI_OK;
}

static void load(const char* path) {
  JavaVM vm = &vm_functions;
  jint (*on_load)(JavaVM*, void*) = NULL;
  void* library = dlopen(path, RTLD_NOW);
  expect(library != NULL, path);
  void* symbol = dlsym(library, "JNI_OnLoad");
  expect(symbol != NULL, "JNI_OnLoad");
  memcpy(&on_load, &symbol, sizeof on_load);
  java = &functions;
  expect(on_load(&vm, NULL) == JNI_VERSION_1_8, "JNI_OnLoad");
}

int main(int argc, char** argv) {
  expect(argc > 1, "usage: jni_caller LIBRARY [THREADS]:");
  load(argv[1]);
  const long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  for (long i = 0; i < threads; i++) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, make_round, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
  return 0;
}
