// Must not compile: a key without a value (the test wants to see the compiler say why).
#include "customlabels/pprof.hpp"

void odd() {
  customlabels::labels::Do(customlabels::labels::Labels("tenant", "acme", "route"), [] {});
}
