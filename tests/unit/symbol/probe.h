// Places in code that report where they are: the address at run time, and the line by the compiler.
#pragma once

#include <cstdint>

#define PROBE_EXPORT __attribute__((visibility("default")))

namespace probe {

struct Place {
  std::uint64_t address = 0;
  int line = 0;        // of the innermost function
  int call_line = 0;   // where `middle` calls `innermost`
  int outer_line = 0;  // where the outermost calls `middle`
};

// This is not inlined; `middle` and `innermost` are inlined into it.
PROBE_EXPORT void outermost(Place& place);
// Takes the place inside a lambda's own function, which is not inlined.
PROBE_EXPORT void through_lambda(Place& place);
// Takes the place in a file-local function, which has no dynamic symbol.
PROBE_EXPORT void through_local(Place& place);

}  // namespace probe

extern "C" PROBE_EXPORT void probe_plain_c(probe::Place* place);
// This one has two other names.
extern "C" PROBE_EXPORT void probe_named(probe::Place* place) noexcept;

// These are not to be called; only their addresses are used.
extern "C" PROBE_EXPORT void probe_unsized();
extern "C" PROBE_EXPORT void probe_sized();
extern "C" PROBE_EXPORT void probe_loops();
extern "C" PROBE_EXPORT void probe_many();
extern "C" PROBE_EXPORT void probe_swift();
