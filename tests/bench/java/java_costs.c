/* The calls of JavaCosts.java, from C. */
#include <jni.h>
#include <time.h>

#include "customlabels/writer.h"

static const char kKey[] = "tenant";
static const custom_labels_label_t kLabels[] = {
    {{6, (const unsigned char*)kKey}, {4, (const unsigned char*)"acme"}},
    {{6, (const unsigned char*)kKey}, {7, (const unsigned char*)"initech"}},
};

static void set(jint i) {
  const custom_labels_string_t* value = &kLabels[i & 1].value;
  custom_labels_thread_set(kKey, 6, value->buf, value->len);
}

static __attribute__((noinline)) void nothing(void) { __asm__ volatile("" ::: "memory"); }

static void call(jint which, jint i) {
  switch (which) {
    case 0:
      set(i);
      custom_labels_thread_remove(kKey, 6);
      break;
    case 1: {
      custom_labels_saved_t saved;
      custom_labels_thread_enter(&saved, &kLabels[i & 1], 1);
      nothing();
      custom_labels_thread_leave(&saved);
      break;
    }
    case 2:
      custom_labels_thread_set_trace(1UL << 60 | (uint64_t)i, 1UL << 61);
      break;
    case 3:
      set(i);
      break;
    default:
      nothing();
  }
}

static jlong now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (jlong)time.tv_sec * 1000000000 + time.tv_nsec;
}

JNIEXPORT jlong JNICALL Java_JavaCosts_inC(JNIEnv* java, jclass type, jint which, jint n) {
  (void)java;
  (void)type;
  const jlong start = now();
  for (jint i = 0; i < n; i++) call(which, i);
  return now() - start;
}

JNIEXPORT void JNICALL Java_JavaCosts_nothing(JNIEnv* java, jclass type) {
  (void)java;
  (void)type;
}
