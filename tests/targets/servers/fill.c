#include "fill.h"

#include <string.h>
#include <sys/mman.h>

const char* const fill_kinds[] = {"gone",      "of the kernel",  "impossible", "nothing",
                                  "itself",    "each other",     "odd",        "without an end",
                                  "very long", "everything set", "random",     NULL};
enum kind {
  kGone,
  kOfKernel,
  kImpossible,
  kNothing,
  kItself,
  kEachOther,
  kOdd,
  kWithoutEnd,
  kVeryLong,
  kEverythingSet,
  kRandom
};

enum { kPage = 65536, kLong = 16 * kPage };
static char* gone;        /* where memory was */
static char* end_of_text; /* the last bytes of a mapping, none of which is 0 */
static char* long_text;   /* a megabyte without a 0 */

/* Makes the memory that words point to, once. */
static int prepare(void) {
  if (gone != NULL) return 1;
  char* pages =
      mmap(NULL, 3 * kPage + kLong, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 0;
  memset(pages, 'x', kPage);
  memset(pages + 3 * kPage, 'y', kLong);
  end_of_text = pages + kPage - 40;
  long_text = pages + 3 * kPage;
  gone = pages + kPage + 512;
  return munmap(pages + kPage, 2 * (size_t)kPage) == 0;
}

/* The generator splitmix64. */
static uint64_t random_word(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15U;
  uint64_t word = *state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

static uint64_t address(const void* place) { return (uint64_t)(uintptr_t)place; }

/* A multiple of eight bytes from the start of some area. */
static uint64_t place_in(const struct area* areas, uint64_t* state) {
  size_t count = 0;
  while (areas[count].start != NULL) count++;
  const struct area* area = &areas[random_word(state) % count];
  return address(area->start) + random_word(state) % area->size / 8 * 8;
}

static uint64_t of_kind(enum kind kind, const struct area* areas, const char* place,
                        uint64_t* state) {
  switch (kind) {
    case kGone:
      return address(gone);
    case kOfKernel:
      return 0xffff888000001000U;
    case kImpossible:
      return 0x00de0000c0de0000U;
    case kNothing:
      return 0;
    case kItself:
      return address(place);
    case kEachOther:
      return place_in(areas, state);
    case kOdd:
      return place_in(areas, state) + 1 + random_word(state) % 7;
    case kWithoutEnd:
      return address(end_of_text);
    case kVeryLong:
      return address(long_text);
    case kEverythingSet:
      return UINT64_MAX;
    default:
      break;
  }
  const uint64_t number = random_word(state);
  switch (number % 4) {
    case 0:
      return number >> 8 % 64;
    case 1:
      return number >> 32 & 3;
    default:
      /* A pointer of another kind, more often than not one into the server's own memory. */
      return of_kind((enum kind)(number >> 40) % kRandom, areas, place, state);
  }
}

int fill(const struct area* areas, const char* kind, uint64_t seed) {
  int number = 0;
  while (fill_kinds[number] != NULL && strcmp(fill_kinds[number], kind) != 0) number++;
  if (fill_kinds[number] == NULL || !prepare()) return 0;
  uint64_t state = seed;
  const uint64_t one_of = number == kRandom ? 1 + seed % 8 : 1;
  for (; areas->start != NULL; areas++) {
    char* start = areas->start;
    for (size_t at = 0; at + 8 <= areas->size; at += 8) {
      if (random_word(&state) % one_of != 0) continue;
      const uint64_t word = of_kind((enum kind)number, areas, start + at, &state);
      memcpy(start + at, &word, sizeof word);
    }
  }
  return 1;
}
