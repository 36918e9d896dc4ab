// A simple writer with errors: it has one label set, and changes it in place. The tests of the real
// writer must notice the difference, because every call shows a reader something that was never
// set. It has four labels, texts of up to 255 bytes, and one thread.
#pragma once

#if defined(__cplusplus)
extern "C" {
#endif

// Removes all labels for the start of a test. A reader sees nothing wrong.
void naive_reset(void);
// Adds the label. An existing value is overwritten in place.
void naive_set(const char* key, const char* value);
// Sets one label after the other.
void naive_set_two(const char* key1, const char* value1, const char* key2, const char* value2);
// Removes the value before the key.
void naive_remove(const char* key);
// Moves the labels to new memory, and releases the old memory before it publishes the new.
void naive_move(void);
// Sets a label for a scope, and puts an empty value back where there was none.
void naive_enter(const char* key, const char* value);
void naive_leave(const char* key);

#if defined(__cplusplus)
}
#endif
