// A mapping of code without a file, as a report of the kernel would have it.
#pragma once

#include "labelscope/mapping.h"

namespace labelscope::test {

inline Mapping anonymous(Address start, Address end, const char* name) {
  Mapping mapping;
  mapping.start = start;
  mapping.end = end;
  mapping.executable = true;
  mapping.path = name;
  return mapping;
}

}  // namespace labelscope::test
