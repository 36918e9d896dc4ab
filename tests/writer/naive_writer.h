// A writer as one would write it first: one label set, changed where it lies. It is what the tests
// of the real writer must be able to tell from it: every call shows a reader something that was
// never set. Four labels, texts of up to 255 bytes, one thread.
#pragma once

#if defined(__cplusplus)
extern "C" {
#endif

// No labels. Shows nothing wrong; for the start of a test.
void naive_reset(void);
// Adds the label; a value that is there is overwritten in place.
void naive_set(const char* key, const char* value);
// One after the other.
void naive_set_two(const char* key1, const char* value1, const char* key2, const char* value2);
// Takes the value away before the key.
void naive_remove(const char* key);
// Moves the labels to new memory, and lets go of the old before it says so.
void naive_move(void);
// Sets a label for a scope, and puts an empty value back where there was none.
void naive_enter(const char* key, const char* value);
void naive_leave(const char* key);

#if defined(__cplusplus)
}
#endif
