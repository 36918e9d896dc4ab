// The code under test (see probe.h).
#include "probe.h"

#if defined(__x86_64__)
// lea sees the instruction pointer of the next instruction.
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
#ifdef __clang__
#define PROBE_NOINLINE __attribute__((noinline))
#else
#define PROBE_NOINLINE __attribute__((noinline, noclone))
#endif

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
extern "C" PROBE_NOINLINE void probe_named(probe::Place* place) noexcept {
  PROBE_HERE(*place);
}
extern "C" PROBE_EXPORT __attribute__((alias("probe_named"))) void probe_another_name(
    probe::Place*) noexcept;
extern "C" PROBE_EXPORT __attribute__((alias("probe_named"))) void probe_third_name(
    probe::Place*) noexcept;
// clang-format on

// The assembly is as people write it: a function without a size, one with a label inside, then
// padding that belongs to neither.
asm(R"(
  .text
  .balign 64
  .globl probe_unsized, probe_sized, probe_inner_label, probe_padding
  .type probe_unsized, %function
probe_unsized:
  .skip 64, 0
  .type probe_sized, %function
probe_sized:
  .skip 32, 0
probe_inner_label:
  .skip 32, 0
  .size probe_sized, . - probe_sized
  .set probe_padding, .
  .skip 64, 0
  .type probe_end, %function
probe_end:
  .skip 64, 0
  .size probe_end, 64

// A loop in a function without a size, a hundred labels in one with a size, and a name of Swift.
  .macro probe_label
probe_many_\@:
  .skip 4, 0
  .endm
  .globl probe_loops, probe_many, "$s5probe4nameyyF"
  .type probe_loops, %function
probe_loops:
  .skip 32, 0
probe_loop:
  .skip 32, 0
  .type probe_many, %function
probe_many:
  .rept 100
  probe_label
  .endr
  .size probe_many, . - probe_many
  .type "$s5probe4nameyyF", %function
"$s5probe4nameyyF":
  .type probe_swift, %function
probe_swift:
  .skip 64, 0
  .size "$s5probe4nameyyF", 64
  .globl probe_swift
)");
