// Code under test: see probe.h.
#include "probe.h"

#if defined(__x86_64__)
// The instruction pointer that lea sees is that of the next instruction.
#define PROBE_PC(out)                             \
  do {                                            \
    asm volatile("lea 0(%%rip), %0" : "=r"(out)); \
    (out) -= 1;                                   \
  } while (false)
#else
#define PROBE_PC(out) asm volatile("adr %0, ." : "=r"(out))
#endif

#define PROBE_HERE(place)    \
  PROBE_PC((place).address); \
  (place).line = __LINE__

#define PROBE_INLINE __attribute__((always_inline)) inline
#define PROBE_NOINLINE __attribute__((noinline, noclone))

namespace probe {
namespace {

// clang-format off
PROBE_INLINE void innermost(Place& place) {
  PROBE_HERE(place);
}

template <class T>
struct Caller {
  PROBE_INLINE static void middle(T& place) {
    place.call_line = __LINE__; innermost(place);
  }
};

PROBE_NOINLINE void local_function(Place& place) {
  PROBE_HERE(place);
}

}  // namespace

PROBE_NOINLINE void outermost(Place& place) {
  place.outer_line = __LINE__; Caller<Place>::middle(place);
}

PROBE_NOINLINE void through_lambda(Place& place) {
  auto lambda = [&place]() PROBE_NOINLINE { PROBE_HERE(place); };
  lambda();
}

void through_local(Place& place) { local_function(place); }

}  // namespace probe

extern "C" PROBE_NOINLINE void probe_plain_c(probe::Place* place) {
  PROBE_HERE(*place);
}
// clang-format on
