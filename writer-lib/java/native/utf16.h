/* This turns a text of Java into the bytes of a label: UTF-16 into UTF-8, with a limit.
 *
 * JNI's own function, GetStringUTFRegion, writes "modified UTF-8": a character behind U+FFFF, such
 * as an emoji, as two times three bytes, and U+0000 as two. Other programs do not accept that. */
#ifndef CUSTOMLABELS_JAVA_UTF16_H
#define CUSTOMLABELS_JAVA_UTF16_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Writes the characters of units[0..n) to `bytes`, up to the last one that ends within `limit`
 * bytes. U+FFFD stands for a surrogate without its other half. Returns the number of bytes, and in
 * *taken how many units they are of; it is n if nothing was cut.
 *
 * Each unit takes at least one byte. So `limit` units are enough of any longer text: if the last of
 * them is the first half of a pair, there is no room for its character anyway. */
size_t utf8_of_utf16(unsigned char* bytes, size_t limit, const uint16_t* units, size_t n,
                     size_t* taken);

#if defined(__cplusplus)
}
#endif

#endif /* CUSTOMLABELS_JAVA_UTF16_H */
