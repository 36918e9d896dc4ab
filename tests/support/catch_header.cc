// This file only carries the precompiled header of the tests (tests/CMakeLists.txt).
#include "support/catch.h"
