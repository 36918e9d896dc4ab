#include "push_writer.h"

#define API __attribute__((visibility("default")))

API __thread void* bare_slot;

API void bare_store(void* value) { bare_slot = value; }
