// Prints the address of `outermost` in a static executable.
#include <cstdio>

#include "probe.h"

int main() {
  probe::Place place;
  probe::outermost(place);
  std::printf("%llu %d %d %d\n", static_cast<unsigned long long>(place.address), place.line,
              place.call_line, place.outer_line);
  return 0;
}
