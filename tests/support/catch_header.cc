// What carries the precompiled header of the tests (tests/CMakeLists.txt), and is nothing else.
#include "support/catch.h"
