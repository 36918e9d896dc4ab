// Ends a fuzzer with a report when something that must hold does not.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void fuzzer_check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
