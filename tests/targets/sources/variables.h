// Thread-local variables of each type, for a program and for a library: each includes this with its
// PREFIX. Each thread sets its own variables by its number.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_(prefix, name) prefix##name
#define NAME__(prefix, name) NAME_(prefix, name)
#define NAME(name) NAME__(PREFIX, name)
#ifndef SCOPE
#define SCOPE
#endif

struct NAME(inner) {
  uint32_t padding;
  uint32_t number;
  const char* text;
};
struct NAME(outer) {
  uint64_t padding[2];
  struct NAME(inner) * inner;
};

SCOPE __thread uint8_t NAME(u8);
SCOPE __thread int16_t NAME(i16);
SCOPE __thread uint64_t NAME(u64);
SCOPE __thread double NAME(f64);
SCOPE __thread bool NAME(flag);
SCOPE __thread unsigned char NAME(id)[16];
SCOPE __thread char NAME(name)[12];
SCOPE __thread const char* NAME(text);
SCOPE __thread struct {
  const char* start;
  size_t size;
} NAME(slice);
SCOPE __thread struct NAME(outer) * NAME(current);
// The compiler would leave out a static variable that is never read.
__attribute__((visibility("hidden"))) __thread int32_t NAME(hidden);
static __thread volatile int64_t NAME(local);

static __thread struct NAME(outer) NAME(an_outer);
static __thread struct NAME(inner) NAME(an_inner);
static __thread char NAME(buffer)[32];

static void NAME(set)(int number) {
  NAME(u8) = (uint8_t)(200 + number);
  NAME(i16) = (int16_t)(-300 - number);
  NAME(u64) = UINT64_MAX - (uint64_t)number;
  NAME(f64) = number + 0.5;
  NAME(flag) = number % 2 == 1;
  memset(NAME(id), number, sizeof NAME(id));
  snprintf(NAME(name), sizeof NAME(name), "name%d", number);
  snprintf(NAME(buffer), sizeof NAME(buffer), "text %d", number);
  NAME(hidden) = -number;
  NAME(local) = 1000 + number;
  if (number == 0) return;  // its pointers stay null
  NAME(text) = NAME(buffer);
  NAME(slice).start = NAME(buffer);
  NAME(slice).size = 4;
  NAME(an_inner).number = 70U + (uint32_t)number;
  NAME(an_inner).text = NAME(buffer);
  NAME(an_outer).inner = &NAME(an_inner);
  NAME(current) = &NAME(an_outer);
}
