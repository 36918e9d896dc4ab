#include "utf16.h"

#include <stdbool.h>

static bool is_first_half(uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
static bool is_second_half(uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }

static const uint32_t kReplacement = 0xFFFD;

/* Writes a character of more than one byte. */
static void put_character(unsigned char* to, uint32_t character, size_t length) {
  static const unsigned char kStart[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = length - 1; i > 0; i--) {
    to[i] = (unsigned char)(0x80 | (character & 0x3F));
    character >>= 6;
  }
  to[0] = (unsigned char)(kStart[length] | character);
}

size_t utf8_of_utf16(unsigned char* bytes, size_t limit, const uint16_t* units, size_t n,
                     size_t* taken) {
  size_t length = 0;
  size_t i = 0;
  while (i < n) {
    uint32_t character = units[i];
    if (character < 0x80) {
      if (length == limit) break;
      bytes[length++] = (unsigned char)character;
      i++;
      continue;
    }
    size_t width = 1;
    if (is_first_half(character) && i + 1 < n && is_second_half(units[i + 1])) {
      character = 0x10000 + ((character & 0x3FF) << 10 | (units[i + 1] & 0x3FFU));
      width = 2;
    } else if (is_first_half(character) || is_second_half(character)) {
      character = kReplacement;
    }
    const size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (limit - length < size) break;
    put_character(bytes + length, character, size);
    length += size;
    i += width;
  }
  *taken = i;
  return length;
}
