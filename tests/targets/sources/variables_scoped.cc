// Variables of variables.c's program as C++ has them: in a namespace, static ones, and in a
// namespace without a name.
#include "variables_scoped.h"

namespace shop {
thread_local volatile int current;
static thread_local volatile int depth;
namespace {
thread_local volatile int hidden;
}
}  // namespace shop

static thread_local volatile int file_static;

void set_scoped(int number) {
  shop::current = 40 + number;
  shop::depth = 40 + number;
  shop::hidden = 40 + number;
  file_static = 40 + number;
}
