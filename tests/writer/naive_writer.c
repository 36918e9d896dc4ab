#include "writer/naive_writer.h"

#include <string.h>
#include <sys/mman.h>

#include "customlabels/writer.h"

enum { kLabels = 4, kText = 256 };

// naive_move() gives it a mapping of its own, so that the memory that it leaves is unmapped.
struct naive_labels {
  custom_labels_label_t labels[kLabels];
  unsigned char keys[kLabels][kText];
  unsigned char values[kLabels][kText];
};

static struct naive_labels first;
static struct naive_labels* where = &first;
static custom_labels_labelset_t set = {first.labels, 0, kLabels};

// This goes byte by byte, since the compiler must not improve what is meant to be bad.
static void copy_text(unsigned char* to, const char* text) {
  volatile unsigned char* slow = to;
  for (size_t i = 0; text[i] != '\0'; i++) slow[i] = (unsigned char)text[i];
}

static size_t find_key(const char* key) {
  size_t i = 0;
  while (i < set.count && strncmp((const char*)where->keys[i], key, kText) != 0) i++;
  return i;
}

void naive_reset(void) {
  custom_labels_current_set = NULL;
  memset(&first, 0, sizeof first);
  where = &first;
  set = (custom_labels_labelset_t){first.labels, 0, kLabels};
}

void naive_set(const char* key, const char* value) {
  custom_labels_current_set = &set;
  const size_t i = find_key(key);
  volatile custom_labels_label_t* label = &where->labels[i];
  if (i == set.count) {
    copy_text(where->keys[i], key);
    label->key.buf = where->keys[i];
    label->key.len = strlen(key);
    *(volatile size_t*)&set.count = i + 1;
  }
  label->value.buf = where->values[i];
  label->value.len = strlen(value);
  copy_text(where->values[i], value);
}

void naive_set_two(const char* key1, const char* value1, const char* key2, const char* value2) {
  naive_set(key1, value1);
  naive_set(key2, value2);
}

void naive_remove(const char* key) {
  const size_t i = find_key(key);
  if (i == set.count) return;
  volatile custom_labels_label_t* label = &where->labels[i];
  label->value.buf = NULL;
  label->key.buf = NULL;
  where->labels[i] = where->labels[set.count - 1];
  memcpy(where->keys[i], where->keys[set.count - 1], kText);
  *(volatile size_t*)&set.count = set.count - 1;
}

void naive_move(void) {
  struct naive_labels* to =
      mmap(NULL, sizeof *to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (to == MAP_FAILED) return;
  memcpy(to, where, sizeof *to);
  for (size_t i = 0; i < set.count; i++) {
    to->labels[i].key.buf = to->keys[i];
    to->labels[i].value.buf = to->values[i];
  }
  if (where != &first) munmap(where, sizeof *where);
  where = to;
  *(custom_labels_label_t* volatile*)&set.storage = to->labels;
}

void naive_enter(const char* key, const char* value) { naive_set(key, value); }

void naive_leave(const char* key) { naive_set(key, ""); }
