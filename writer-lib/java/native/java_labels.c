/* The native methods of customlabels.NativeLabels (NativeLabels.java). Each copies its texts into
 * memory on the stack, as UTF-8 of at most the length that a label may have, and makes one call of
 * the writer. Nothing is allocated, except by a thread's first calls.
 *
 * The texts come by GetStringRegion. GetStringCritical would not copy them, but most texts are
 * stored as Latin-1, and of those it allocates a copy in UTF-16. */
#include <jni.h>
#include <stdbool.h>

#include "customlabels/writer.h"
#include "scopes.h"
#include "utf16.h"

/* A text whose bytes are on the stack of the caller. */
struct text {
  custom_labels_string_t string;
  bool cut;
};

/* Copies a text of Java, whose length in units Java has passed. Returns false if there is none. */
static inline bool take_text(JNIEnv* java, jstring from, jint units, uint16_t* buffer,
                             unsigned char* bytes, size_t limit, struct text* to) {
  if (from == NULL || units < 0) return false;
  const size_t all = (size_t)units;
  const size_t n = all < limit ? all : limit;
  (*java)->GetStringRegion(java, from, 0, (jsize)n, buffer);
  size_t taken = 0;
  to->string.len = utf8_of_utf16(bytes, limit, buffer, n, &taken);
  to->string.buf = bytes;
  to->cut = taken < all;
  return true;
}

/* One label on the stack. */
struct label_text {
  uint16_t units[CUSTOM_LABELS_THREAD_MAX_VALUE];
  unsigned char key_bytes[CUSTOM_LABELS_THREAD_MAX_KEY];
  unsigned char value_bytes[CUSTOM_LABELS_THREAD_MAX_VALUE];
  struct text key;
  struct text value;
};

static inline bool take_key(JNIEnv* java, jstring key, jint units, struct label_text* label) {
  return take_text(java, key, units, label->units, label->key_bytes, CUSTOM_LABELS_THREAD_MAX_KEY,
                   &label->key);
}

static inline bool take_label(JNIEnv* java, jstring key, jint key_units, jstring value,
                              jint value_units, struct label_text* label) {
  return take_key(java, key, key_units, label) &&
         take_text(java, value, value_units, label->units, label->value_bytes,
                   CUSTOM_LABELS_THREAD_MAX_VALUE, &label->value);
}

/* The writer got strings of the right length, so it cannot know that they were cut. */
static inline custom_labels_result_t with_cut(custom_labels_result_t result, bool cut) {
  return result >= 0 && cut ? CUSTOM_LABELS_TRUNCATED : result;
}

static inline bool was_cut(const struct label_text* label) {
  return label->key.cut || label->value.cut;
}

/* These are not exported: Java would find a method by its name alone, with whatever parameters the
 * class declares. JNI_OnLoad gives them to the class. */
#define METHOD(type, name) static type JNICALL name

METHOD(jint, version)(JNIEnv* java, jclass type) {
  (void)java, (void)type;
  return 1;
}

METHOD(jint, set_label)
(JNIEnv* java, jclass type, jstring key, jint key_units, jstring value, jint value_units) {
  (void)type;
  struct label_text label;
  if (!take_label(java, key, key_units, value, value_units, &label)) return CUSTOM_LABELS_INVALID;
  const custom_labels_string_t* k = &label.key.string;
  const custom_labels_string_t* v = &label.value.string;
  return with_cut(custom_labels_thread_set(k->buf, k->len, v->buf, v->len), was_cut(&label));
}

METHOD(jint, remove_label)(JNIEnv* java, jclass type, jstring key, jint key_units) {
  (void)type;
  struct label_text label;
  if (!take_key(java, key, key_units, &label)) return CUSTOM_LABELS_INVALID;
  return custom_labels_thread_remove(label.key.string.buf, label.key.string.len);
}

METHOD(jint, clear)(JNIEnv* java, jclass type) {
  (void)java, (void)type;
  return custom_labels_thread_clear();
}

METHOD(jint, set_trace)(JNIEnv* java, jclass type, jlong span_id, jlong root_span_id) {
  (void)java, (void)type;
  return custom_labels_thread_set_trace((uint64_t)span_id, (uint64_t)root_span_id);
}

METHOD(jint, clear_trace)(JNIEnv* java, jclass type) {
  (void)java, (void)type;
  return custom_labels_thread_clear_trace();
}

/* What enter returns to Java: the result in the lowest eight bits, and the ticket above. */
static inline jlong entered(jlong thread, const custom_labels_label_t* labels, size_t n, bool cut) {
  uint64_t ticket = 0;
  const custom_labels_result_t result = with_cut(scopes_enter(thread, labels, n, &ticket), cut);
  return (jlong)(ticket << 8 | (uint8_t)result);
}

METHOD(jlong, enter)
(JNIEnv* java, jclass type, jlong thread, jstring key, jint key_units, jstring value,
 jint value_units) {
  (void)type;
  struct label_text label;
  if (!take_label(java, key, key_units, value, value_units, &label))
    return (uint8_t)CUSTOM_LABELS_INVALID;
  const custom_labels_label_t labels[] = {{label.key.string, label.value.string}};
  return entered(thread, labels, 1, was_cut(&label));
}

METHOD(jlong, enter_two)
(JNIEnv* java, jclass type, jlong thread, jstring key1, jint key1_units, jstring value1,
 jint value1_units, jstring key2, jint key2_units, jstring value2, jint value2_units) {
  (void)type;
  struct label_text first;
  struct label_text second;
  if (!take_label(java, key1, key1_units, value1, value1_units, &first) ||
      !take_label(java, key2, key2_units, value2, value2_units, &second))
    return (uint8_t)CUSTOM_LABELS_INVALID;
  const custom_labels_label_t labels[] = {{first.key.string, first.value.string},
                                          {second.key.string, second.value.string}};
  return entered(thread, labels, 2, was_cut(&first) || was_cut(&second));
}

METHOD(jint, leave)(JNIEnv* java, jclass type, jlong ticket) {
  (void)java, (void)type;
  return scopes_leave((uint64_t)ticket);
}

#define TEXT "Ljava/lang/String;I"
#define GIVEN(name, signature, function) {(char*)(name), (char*)(signature), (void*)(function)}

/* Gives the methods to the class that loads the library. A class of another version declares
 * others, and gets an error that says so, in place of a result. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  const JNINativeMethod methods[] = {
      GIVEN("version", "()I", version),
      GIVEN("set", "(" TEXT TEXT ")I", set_label),
      GIVEN("remove", "(" TEXT ")I", remove_label),
      GIVEN("clear", "()I", clear),
      GIVEN("setTrace", "(JJ)I", set_trace),
      GIVEN("clearTrace", "()I", clear_trace),
      GIVEN("enter", "(J" TEXT TEXT ")J", enter),
      GIVEN("enterTwo", "(J" TEXT TEXT TEXT TEXT ")J", enter_two),
      GIVEN("leave", "(J)I", leave),
  };
  JNIEnv* java = NULL;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void**)&java, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  const jclass type = (*java)->FindClass(java, "customlabels/NativeLabels");
  if (type != NULL &&
      (*java)->RegisterNatives(java, type, methods, sizeof methods / sizeof *methods) == JNI_OK)
    return JNI_VERSION_1_8;
  (*java)->ExceptionClear(java);
  const jclass error = (*java)->FindClass(java, "java/lang/UnsatisfiedLinkError");
  if (error != NULL)
    (*java)->ThrowNew(java, error, "it is of another version than customlabels.jar");
  return JNI_ERR;
}
