// A library with thread-local variables, including hidden ones. It is loaded with dlopen().
#define PREFIX lib_
#include "variables.h"

__attribute__((visibility("default"))) void set_library_variables(int number) { lib_set(number); }
