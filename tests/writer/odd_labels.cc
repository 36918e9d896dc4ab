// This must not compile, because a key has no value (the test checks the compiler's message).
#include "customlabels/pprof.hpp"

void odd() {
  customlabels::labels::Do(customlabels::labels::Labels("tenant", "acme", "route"), [] {});
}
